package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How the task gets to Elasticsearch: with credentials, through a proxy, over TLS. */
class AccessIT extends MisbehavingServer {
    private static final String PASSWORD = "pa55w0rd-marker";
    private static final String HEADER = "header-marker";
    private static final String PROXY_PASSWORD = "proxy-pa55w0rd-marker";

    /** Credentials are sent, and the content type is the plain one that every version takes. */
    @Test
    void credentialsAndContentTypeAreSent() throws Exception {
        try (TaskHarness harness = harness("connection.api.key", "aWQ6a2V5", "linger.ms", "1009")) {
            harness.put(records(harness, 5));
            assertAllAccepted(harness, 5);
            assertEquals(List.of("ApiKey aWQ6a2V5 application/x-ndjson"), headers);
        }
    }

    /** While the password is wrong no offset may be committed; with the right one every record arrives. */
    @Test
    void aWrongPasswordCostsNoRecord() throws Exception {
        String right = "Basic " + Base64.getEncoder().encodeToString(("sluice:" + PASSWORD).getBytes(UTF_8));
        misbehaviour = (request, exchange, ids) ->
                !right.equals(exchange.getRequestHeaders().getFirst("Authorization"))
                        && answer(exchange, 401, "{\"error\":{\"type\":\"security_exception\",\"reason\":\"unable\"}}");
        String[] access = {"connection.username", "sluice", "connection.password", PASSWORD + "-old"};
        for (int attempt = 0; attempt < 3; attempt++) {
            try (TaskHarness harness = harness(access)) {
                List<SinkRecord> records = records(harness, 997);
                harness.putUntilFailed(records);
                assertEquals(0, harness.committable());
            }
        }
        assertEquals(Set.of(), accepted);
        access[3] = PASSWORD;
        try (TaskHarness harness = harness(access)) {
            harness.put(records(harness, 997));
            assertAllAccepted(harness, 997);
        }
    }

    /** Requests go through a proxy that wants credentials, which gets its own and not Elasticsearch's. */
    @Test
    void requestsGoThroughAProxy() throws Exception {
        List<String> seen = Collections.synchronizedList(new ArrayList<>());
        misbehaviour = (request, exchange, ids) -> {
            String given = exchange.getRequestHeaders().getFirst("Proxy-Authorization");
            seen.add(exchange.getRequestURI().getHost() + " " + given + " "
                    + exchange.getRequestHeaders().getFirst("X-Tenant"));
            if (given == null) {
                exchange.getResponseHeaders().add("Proxy-Authenticate", "Basic realm=\"proxy\"");
                return answer(exchange, 407, "");
            }
            return false;
        };
        Map<String, String> settings = Map.of(
                "proxy.host",
                "127.0.0.1",
                "proxy.port",
                Integer.toString(server.port()),
                "linger.ms",
                "1009",
                "proxy.username",
                "p",
                "proxy.password",
                PROXY_PASSWORD,
                "connection.username",
                "u",
                "connection.password",
                PASSWORD,
                "connection.headers",
                "X-Tenant: " + HEADER);
        try (TaskHarness harness = new TaskHarness("http://elasticsearch.invalid:9200", settings)) {
            harness.put(records(harness, 5));
            assertAllAccepted(harness, 5);
        }
        String proxyLogin = Base64.getEncoder().encodeToString(("p:" + PROXY_PASSWORD).getBytes(UTF_8));
        // With its login at once: no body goes twice.
        assertEquals(List.of("elasticsearch.invalid Basic " + proxyLogin + " " + HEADER), seen);
    }

    /** A container's name with an underscore in it reaches the proxy as it is. */
    @Test
    void hostsMayHaveUnderscores() throws Exception {
        List<String> seen = Collections.synchronizedList(new ArrayList<>());
        misbehaviour = (request, exchange, ids) -> {
            seen.add(exchange.getRequestHeaders().getFirst("Host"));
            return false;
        };
        Map<String, String> proxy =
                Map.of("proxy.host", "127.0.0.1", "proxy.port", Integer.toString(server.port()), "linger.ms", "1009");
        for (String host : new String[] {"es_1:9200", "es_1", "[::1]"}) {
            accepted.clear();
            try (TaskHarness harness = new TaskHarness("http://" + host + "/", proxy)) {
                harness.put(records(harness, 5));
                assertAllAccepted(harness, 5);
            }
        }
        assertEquals(List.of("es_1:9200", "es_1", "[::1]"), seen);
    }

    /** A path in the URL goes before that of every request; without auto.create the question for the target, too. */
    @Test
    void urlsMayHaveAPath() throws Exception {
        List<String> seen = Collections.synchronizedList(new ArrayList<>());
        misbehaviour = (request, exchange, ids) -> {
            seen.add(
                    exchange.getRequestMethod() + " " + exchange.getRequestURI().getPath());
            if (exchange.getRequestMethod().equals("HEAD")) {
                exchange.sendResponseHeaders(200, -1);
                return true;
            }
            return false;
        };
        try (TaskHarness harness =
                new TaskHarness(server.url() + "/gateway/es/", Map.of("auto.create", "false", "linger.ms", "1009"))) {
            harness.put(records(harness, 5));
            assertAllAccepted(harness, 5);
        }
        assertEquals(List.of("HEAD /gateway/es/books", "POST /gateway/es/books/_bulk"), seen);
    }

    /** Nothing that the task asks or sends is asked of another host, whatever the server says of where to go. */
    @Test
    void redirectionsAreNotFollowed() throws Exception {
        List<String> seenElsewhere = Collections.synchronizedList(new ArrayList<>());
        try (LocalServer other = LocalServer.start(exchange -> {
            try (exchange) {
                seenElsewhere.add(exchange.getRequestMethod() + " "
                        + exchange.getRequestHeaders().getFirst("Authorization"));
                LocalServer.answer(exchange, 200, "");
            }
        })) {
            for (String mayCreate : new String[] {"true", "false"}) {
                for (int status : new int[] {301, 302, 303, 307, 308}) {
                    misbehaviour = (request, exchange, ids) -> {
                        exchange.getResponseHeaders().add("Location", other.url() + exchange.getRequestURI());
                        exchange.sendResponseHeaders(status, -1);
                        return true;
                    };
                    try (TaskHarness harness = harness(
                            "connection.api.key",
                            "aWQ6a2V5",
                            "auto.create",
                            mayCreate,
                            "flush.timeout.ms",
                            "0",
                            "max.retries",
                            "0")) {
                        List<SinkRecord> records = records(harness, 5);
                        assertThrows(ConnectException.class, () -> {
                            harness.put(records);
                            harness.putUntilCompleted();
                        });
                        assertEquals(0, harness.committable());
                    }
                }
            }
            assertEquals(List.of(), seenElsewhere);
        }
    }

    /** A certificate is trusted if it is in the trust store given, and by nothing else. */
    @Test
    void theTrustStoreGivenDecides(@TempDir Path folder) throws Exception {
        SelfSigned certificate = new SelfSigned(folder);
        try (LocalServer secure = LocalServer.secure(certificate, this::handle)) {
            try (TaskHarness harness =
                    new TaskHarness(secure.url(), Map.of("flush.timeout.ms", "0", "retry.timeout.ms", "0"))) {
                ConnectException failure = harness.putUntilFailed(records(harness, 5));
                assertTrue(failure.getMessage().contains("SSLHandshakeException"), failure.getMessage());
            }
            Map<String, String> trusting = TaskHarness.settings(Map.of(), certificate.trusted());
            try (TaskHarness harness = new TaskHarness(secure.url(), trusting)) {
                harness.put(records(harness, 5));
                assertAllAccepted(harness, 5);
            }
        }
    }

    /** A bearer token stands in each request. */
    @Test
    void aBearerTokenIsSent() throws Exception {
        try (TaskHarness harness = harness("connection.bearer.token", "abc.def", "linger.ms", "1009")) {
            harness.put(records(harness, 5));
            assertAllAccepted(harness, 5);
            assertEquals(List.of("Bearer abc.def application/x-ndjson"), headers);
        }
    }

    /** A token that was replaced in its file is used from the next request on; while none is there, the one before. */
    @Test
    void aTokenMayBeReplacedInItsFile(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("token");
        Files.writeString(file, "first\n");
        AtomicReference<String> valid = new AtomicReference<>("first");
        misbehaviour = (request, exchange, ids) -> {
            String given = exchange.getRequestHeaders().getFirst("Authorization");
            if (given.equals("Bearer " + valid.get())) {
                return false;
            }
            // Only now the token is there: what was refused must be sent again with it.
            Files.writeString(file, valid.get());
            return answer(exchange, 401, "{\"error\":{\"type\":\"security_exception\",\"reason\":\"expired\"}}");
        };
        System.setProperty("sluice.bearer.token.files", file.toString());
        try (TaskHarness harness = harness("connection.bearer.token.file", file.toString())) {
            harness.put(List.of(harness.record("a", "{}")));
            assertAllAccepted(harness, 1);
            Files.delete(file);
            harness.put(List.of(harness.record("b", "{}")));
            assertAllAccepted(harness, 2);
            valid.set("second");
            harness.put(List.of(harness.record("c", "{}")));
            assertAllAccepted(harness, 3);
        } finally {
            System.clearProperty("sluice.bearer.token.files");
        }
    }

    /**
     * An account that may only write may not ask a node who it is, with which a node that failed is tried again. Its 403, or
     * an older server's 405, shows that the node is there.
     */
    @Test
    void aNodeThatRefusesItsProbeIsTakenBack() throws Exception {
        List<String> probed = Collections.synchronizedList(new ArrayList<>());
        misbehaviour = (request, exchange, ids) -> {
            if (!exchange.getRequestURI().getPath().equals("/")) {
                return false;
            }
            probed.add(exchange.getRequestMethod());
            return answer(exchange, 403, "{\"error\":{\"type\":\"security_exception\",\"reason\":\"no\"}}");
        };
        try (LocalServer other = LocalServer.start(this::handle)) {
            other.stop();
            String both = server.url() + "," + other.url();
            try (TaskHarness harness = new TaskHarness(both, Map.of("batch.size", "1"))) {
                int sent = 0;
                for (; sent < 2 || harness.attribute("NodesLeftOut") == 0; sent++) {
                    harness.put(List.of(harness.record("a" + sent, "{}")));
                    harness.putUntilCompleted();
                }
                other.comeBack();
                for (; harness.attribute("NodesLeftOut") > 0; sent++) {
                    harness.put(List.of(harness.record("b" + sent, "{}")));
                    harness.putUntilCompleted();
                    sleep(20);
                }
                assertAllAccepted(harness, sent);
                assertEquals(Set.of("GET"), Set.copyOf(probed));
            }
        }
    }
}
