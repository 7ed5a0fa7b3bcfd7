package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import io.sluice.connect.cluster.ClusterCheck;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.ConfigValue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What the connector says before it is made, with a local server that answers as a test tells it to. */
@ExtendWith(LogSafety.class)
class ClusterCheckIT {
    private static final String PRIVILEGES = "POST /_security/user/_has_privileges";
    private static final String ALL_GRANTED = "{\"has_all_requested\":true,\"index\":{\"books\":{\"index\":true}}}";

    private final Map<String, Reply> replies = new HashMap<>();
    private final List<String> asked = Collections.synchronizedList(new ArrayList<>());
    private LocalServer server;
    private String elsewhere = "";
    private long delayMs;

    private record Reply(int status, String body) {}

    @BeforeEach
    void start() throws IOException {
        LogSafety.keep("s3cret");
        server = LocalServer.start(this::handle);
    }

    @AfterEach
    void stop() {
        server.close();
    }

    /** As an Elasticsearch without security answers what it does not know. */
    private void handle(HttpExchange exchange) throws IOException {
        String request = exchange.getRequestMethod() + " " + exchange.getRequestURI();
        asked.add(request + " " + new String(exchange.getRequestBody().readAllBytes(), UTF_8));
        if (asked.size() == 1) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(delayMs));
        }
        Reply reply = replies.getOrDefault(request, new Reply(400, "{\"error\":\"no handler found\"}"));
        try (exchange) {
            if (reply.status() / 100 == 3) {
                exchange.getResponseHeaders().add("Location", elsewhere + exchange.getRequestURI());
            }
            LocalServer.answer(exchange, reply.status(), reply.body());
        }
    }

    private List<String> refusals(String... settings) {
        Map<String, String> given =
                TaskHarness.settings(Map.of("connection.url", server.url(), "topics", "books"), settings);
        return new ElasticsearchSinkConnector()
                .validate(given).configValues().stream()
                        .map(ConfigValue::errorMessages)
                        .flatMap(List::stream)
                        .sorted()
                        .collect(Collectors.toList());
    }

    /** A cluster without security, which knows no such question, is accepted. */
    @Test
    void aClusterWithoutSecurityIsAccepted() {
        assertEquals(List.of(), refusals());
        assertEquals(
                List.of(PRIVILEGES + " {\"index\":[{\"names\":[\"books\"],\"privileges\":[\"index\"]}]}", "GET / "),
                asked);
    }

    /** The cluster is not asked while a setting is wrong, nor when it must not be. */
    @Test
    void theClusterIsAskedLast() {
        assertEquals(List.of("batch.size: got 0, expected 1 to 1000000"), refusals("batch.size", "0"));
        assertEquals(List.of(), refusals("validate.connection", "false"));
        assertEquals(List.of(), asked);
    }

    /** What the account must be allowed follows from the settings, by target. */
    @Test
    void privilegesFollowFromTheSettings() {
        refusals(
                "topics", "Books, offers,sales",
                "key.ignore.topics", "offers",
                "index.name", "${topic}-x",
                "behavior.on.null.values", "delete",
                "auto.create", "false");
        assertEquals(
                PRIVILEGES + " {\"index\":["
                        + "{\"names\":[\"books-x\"],\"privileges\":[\"delete\",\"index\",\"view_index_metadata\"]},"
                        + "{\"names\":[\"offers-x\"],\"privileges\":[\"create_doc\",\"view_index_metadata\"]},"
                        + "{\"names\":[\"sales-x\"],\"privileges\":[\"delete\",\"index\",\"view_index_metadata\"]}]}",
                asked.get(0));
    }

    /** A date in a name stands for any. */
    @Test
    void datesAreAskedForAsAnyName() {
        refusals("index.name", "${topic}-{yyyy.MM}");
        assertEquals(PRIVILEGES + " {\"index\":[{\"names\":[\"books-*\"],\"privileges\":[\"index\"]}]}", asked.get(0));
    }

    /** A redirection is refused as the URL's fault; where it leads to, nobody is asked and no credentials go. */
    @Test
    void redirectionsAreNotFollowed() throws IOException {
        List<String> askedElsewhere = Collections.synchronizedList(new ArrayList<>());
        try (LocalServer other = LocalServer.start(exchange -> {
            try (exchange) {
                askedElsewhere.add(exchange.getRequestURI() + " "
                        + exchange.getRequestHeaders().getFirst("Authorization"));
                LocalServer.answer(exchange, 200, "{}");
            }
        })) {
            elsewhere = other.url();
            String[][] settings = {
                {"connection.api.key", "s3cret"},
                {"connection.api.key", "s3cret", "topics", "", "topics.regex", "b.*"},
                {"connection.username", "u", "connection.password", "s3cret", "auto.create", "false"},
            };
            for (int status : new int[] {301, 302, 303, 307, 308}) {
                for (String path : new String[] {PRIVILEGES, "GET /_security/_authenticate"}) {
                    replies.put(path, new Reply(status, ""));
                }
                for (String[] each : settings) {
                    assertEquals(List.of(redirected(status)), refusals(each));
                }
            }
            replies.clear();
            for (String path : new String[] {"GET /_resolve/index/books", "GET /"}) {
                replies.clear();
                replies.put(PRIVILEGES, new Reply(200, ALL_GRANTED));
                replies.put("GET /_resolve/index/books", new Reply(200, "{\"indices\":[{\"name\":\"books\"}]}"));
                replies.put(path, new Reply(302, ""));
                assertEquals(List.of(redirected(302)), refusals(settings[2]));
            }
            assertEquals(List.of(), askedElsewhere);
        }
    }

    private String redirected(int status) {
        return "connection.url: got status " + status + " from " + server.host()
                + ", expected Elasticsearch's own URL: redirects are not followed";
    }

    /** Settings that a template leaves blank are not given, a slash behind a URL is none of its path. */
    @Test
    void blanksAndSlashesAreNoFault() {
        for (String key : new ElasticsearchSinkConnector().config().names()) {
            if (!key.equals("connection.url")) {
                assertEquals(List.of(), refusals(key, " "), key);
                assertEquals(List.of(), refusals(key, ""), key);
            }
        }
        assertEquals(List.of(), refusals("connection.url", server.url() + "/"));
        assertEquals(
                List.of("connection.url: got a URL with a query or a fragment, expected scheme, host, port and path"
                        + " alone, such as http://localhost:9200"),
                refusals("connection.url", server.url() + "/es?pretty"));
    }

    /** Hosts that only a URL's own rules describe are asked like any other. */
    @Test
    void hostsWithoutAPortAreAsked() {
        for (String host : new String[] {"[::1]", "no_such_host.invalid", "nosuchhost.invalid"}) {
            for (String scheme : new String[] {"http", "https"}) {
                List<String> refusals = refusals("connection.url", scheme + "://" + host + "/");
                assertEquals(1, refusals.size());
                assertTrue(
                        refusals.get(0).startsWith("connection.url: got no answer from " + host + " ("),
                        refusals.get(0));
            }
        }
    }

    /** Topics that only a pattern describes leave the question who the account is. */
    @Test
    void withoutKnownTopicsOnlyTheAccountIsAskedFor() {
        replies.put("GET /_security/_authenticate", new Reply(401, "{}"));
        assertEquals(
                List.of("connection.username: got no credentials (401 from " + server.host()
                        + "), expected credentials that Elasticsearch accepts"),
                refusals("topics", "", "topics.regex", "b.*"));
    }

    /** Refused credentials are the fault of the setting that gives them, which is not repeated. */
    @Test
    void refusedCredentialsAreTheirSettingsFault() {
        replies.put(PRIVILEGES, new Reply(401, "{}"));
        String expected = ": got rejected credentials (401 from " + server.host()
                + "), expected credentials that Elasticsearch accepts";
        assertEquals(List.of("connection.api.key" + expected), refusals("connection.api.key", "s3cret"));
        assertEquals(
                List.of("connection.password" + expected),
                refusals("connection.username", "u", "connection.password", "s3cret"));
        assertEquals(
                List.of("connection.headers" + expected),
                refusals("connection.headers", "Authorization:Bearer s3cret"));
        assertEquals(List.of("connection.bearer.token" + expected), refusals("connection.bearer.token", "s3cret"));
    }

    /** Privileges that the account lacks are named with their targets. */
    @Test
    void missingPrivilegesAreNamed() {
        replies.put(
                PRIVILEGES,
                new Reply(
                        200,
                        "{\"username\":\"u\",\"has_all_requested\":false,\"cluster\":{},\"index\":{\"books\":"
                                + "{\"index\":true,\"delete\":false}},\"application\":{}}"));
        assertEquals(
                List.of("connection.api.key: got an account without the privilege delete on books, expected one that"
                        + " has it; see the role in the sink's README"),
                refusals("connection.api.key", "k", "behavior.on.null.values", "delete"));
    }

    /** A target that must exist and does not is told of, and one that is something else than the user says. */
    @Test
    void targetsThatMustExistAreLookedFor() {
        replies.put(PRIVILEGES, new Reply(200, ALL_GRANTED));
        replies.put("GET /_resolve/index/books", new Reply(404, "{}"));
        replies.put(
                "GET /_resolve/index/library",
                new Reply(200, "{\"indices\":[{\"name\":\"library\"}],\"aliases\":[],\"data_streams\":[]}"));
        assertEquals(
                List.of("auto.create: got books for books, which does not exist, expected a target that does; create it"
                        + " first"),
                refusals("auto.create", "false"));
        assertEquals(List.of(), refusals("auto.create", "false", "index.name", "library"));
        String[] mapping = {"topic.to.external.resource.mapping", "books:library", "external.resource.usage", "INDEX"};
        assertEquals(List.of(), refusals(mapping));
        mapping[3] = "ALIAS_INDEX";
        assertEquals(
                List.of("topic.to.external.resource.mapping: got library for books, expected an alias, as"
                        + " external.resource.usage says"),
                refusals(mapping));
    }

    /** Only the cluster's word that there is none counts: an account needs no privilege to see pipelines. */
    @Test
    void aMissingPipelineIsRefused() {
        String question = "GET /_ingest/pipeline/tidy%20up?filter_path=*.version";
        replies.put(question, new Reply(404, "{}"));
        assertEquals(
                List.of("pipeline: got tidy up, which does not exist, expected an ingest pipeline that does; create it"
                        + " first"),
                refusals("pipeline", "tidy up"));
        for (int status : new int[] {200, 400, 401, 403, 405, 500, 503}) {
            replies.put(question, new Reply(status, "{}"));
            assertEquals(List.of(), refusals("pipeline", "tidy up"), "status " + status);
        }
        replies.put(question, new Reply(404, "no such page"));
        assertEquals(List.of(), refusals("pipeline", "tidy up"));
    }

    /** What Elasticsearch takes for no pipeline, or the question for several, is not looked for. */
    @Test
    void namesThatStandForNoOnePipelineAreNotLookedFor() {
        for (String name : new String[] {"_none", "a,b", "a*"}) {
            assertEquals(List.of(), refusals("pipeline", name));
        }
        assertEquals(
                List.of(),
                asked.stream().filter(request -> request.contains("/_ingest/")).toList());
    }

    /** Servers that are too old are refused where they say their version; other products are not judged. */
    @Test
    void oldVersionsAreRefused() {
        replies.put("GET /", new Reply(200, "{\"version\":{\"number\":\"7.16.3\"}}"));
        assertEquals(
                List.of("connection.url: got Elasticsearch 7.16.3 at " + server.host() + ", expected 7.17 or later"),
                refusals());
        for (String version : new String[] {
            "{\"number\":\"7.17.0\"}",
            "{\"number\":\"9.5.3\"}",
            "{\"number\":\"99999999999.1\"}",
            "{\"number\":\"7.99999999999\"}",
            "{\"number\":\"2.19.0\",\"distribution\":\"opensearch\"}"
        }) {
            replies.put("GET /", new Reply(200, "{\"version\":" + version + "}"));
            assertEquals(List.of(), refusals(), version);
        }
    }

    /** Whatever keeps an answer away is told as the URL's fault, with its cause. */
    @Test
    void anUnreachableClusterIsToldWithItsCause() {
        server.stop();
        assertEquals(List.of(unreachable(server.host(), "HttpHostConnectException: Connection refused")), refusals());
        String unknown =
                refusals("connection.url", "http://elasticsearch.invalid:9200").get(0);
        assertTrue(
                unknown.startsWith(
                        "connection.url: got no answer from elasticsearch.invalid:9200 (UnknownHostException: "),
                unknown);
    }

    /** A cluster that is away behind its proxy is unreachable too. */
    @Test
    void aGatewayWithoutAClusterIsNoAnswer() {
        replies.put(PRIVILEGES, new Reply(503, "busy"));
        assertEquals(List.of(unreachable(server.host(), "status 503")), refusals());
    }

    /** A server that keeps silent is not waited for longer than a request may take. */
    @Test
    void aSilentServerIsNotWaitedFor() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            String host = "127.0.0.1:" + silent.getLocalPort();
            assertEquals(
                    List.of(unreachable(host, "SocketTimeoutException: 1009 MILLISECONDS")),
                    refusals("connection.url", "http://" + host, "read.timeout.ms", "1009"));
        }
    }

    /** A cluster that is busy, and answers after eight seconds, is not refused. */
    @Test
    void aSlowClusterIsWaitedFor() {
        delayMs = 8_009;
        assertEquals(List.of(), refusals());
        assertEquals(2, asked.size());
    }

    /** A certificate that nobody trusts is told of; with its trust store the cluster answers. */
    @Test
    void anUntrustedCertificateIsToldOf(@TempDir Path folder) throws Exception {
        SelfSigned certificate = new SelfSigned(folder);
        try (LocalServer secure = LocalServer.secure(certificate, this::handle)) {
            String refusal = refusals("connection.url", secure.url()).get(0);
            assertTrue(
                    refusal.startsWith(
                            "connection.url: got no answer from " + secure.host() + " (SunCertPathBuilderException: "),
                    refusal);
            assertEquals(List.of(), refusals(certificate.trusted("connection.url", secure.url())));
        }
    }

    /** A trust store that cannot be read is told of before any request. */
    @Test
    void anUnreadableTrustStoreIsToldOf() {
        assertEquals(
                List.of("elastic.https.ssl.truststore.location: got /nowhere.jks, which cannot be read"
                        + " (NoSuchFileException), expected a JKS store that its password opens, or the type PEM"),
                refusals(
                        "connection.url", "https://127.0.0.1:9",
                        "elastic.security.protocol", "SSL",
                        "elastic.https.ssl.truststore.location", "/nowhere.jks"));
    }

    private static String unreachable(String host, String why) {
        return "connection.url: got no answer from " + host + " (" + why
                + "), expected Elasticsearch; start it, correct the URL, or set validate.connection=false";
    }

    /** Upserts and deletes reach only the write index of an alias. */
    @Test
    void changesThroughAnAliasOfSeveralIndicesAreRefused() {
        replies.put(
                "GET /_resolve/index/ali",
                new Reply(
                        200,
                        "{\"indices\":[],\"aliases\":[{\"name\":\"ali\",\"indices\":[\"b-1\",\"b-2\"]}],"
                                + "\"data_streams\":[]}"));
        replies.put(
                "GET /_resolve/index/one",
                new Reply(200, "{\"indices\":[],\"aliases\":[{\"name\":\"one\",\"indices\":[\"b-1\"]}]}"));
        String refusal =
                ": got ali for books, an alias of 2 indices, expected one index with upserts or deletes: they do"
                        + " not reach documents outside the alias's write index";
        String[] deletes = {"behavior.on.null.values", "delete", "index.name", "ali"};
        assertEquals(List.of("index.name" + refusal), refusals(deletes));
        assertEquals(List.of("index.name" + refusal), refusals("write.method", "upsert", "index.name", "ali"));
        assertEquals(
                List.of("topic.to.external.resource.mapping" + refusal),
                refusals(
                        "write.method", "upsert",
                        "topic.to.external.resource.mapping", "books:ali",
                        "external.resource.usage", "ALIAS_INDEX"));
        assertEquals(List.of(), refusals("index.name", "ali"));
        deletes[3] = "one";
        assertEquals(List.of(), refusals(deletes));
        deletes[3] = "unknown";
        assertEquals(List.of(), refusals(deletes));
    }

    /** An alias may have got another index since the connector was made: its start says so, once, and goes on without. */
    @Test
    void theStartWarnsOfAliasesOfSeveralIndices() throws Exception {
        replies.put(
                "GET /_resolve/index/ali",
                new Reply(200, "{\"aliases\":[{\"name\":\"ali\",\"indices\":[\"b-1\",\"b-2\",\"b-3\"]}]}"));
        Map<String, String> given = TaskHarness.settings(
                Map.of("name", "sink-7", "connection.url", server.url(), "topics", "books"), "index.name", "ali");
        try (CapturedLog log = new CapturedLog()) {
            new ElasticsearchSinkConnector().start(given);
            ClusterCheck.warnOfAliases(given);
            assertTrue(log.linesWith("sink-7: ali for books is an alias of 3 indices")
                            .size()
                    >= 1);
            server.stop();
            ClusterCheck.warnOfAliases(given);
        }
    }
}
