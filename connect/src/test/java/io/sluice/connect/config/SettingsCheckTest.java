package io.sluice.connect.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigValue;
import org.junit.jupiter.api.Test;

class SettingsCheckTest {
    private static List<String> refusals(String... settings) {
        Map<String, String> given = new HashMap<>(Map.of("connection.url", "http://localhost:9200"));
        for (int i = 0; i < settings.length; i += 2) {
            given.put(settings[i], settings[i + 1]);
        }
        return SettingsCheck.of(given).configValues().stream()
                .map(ConfigValue::errorMessages)
                .flatMap(List::stream)
                .sorted()
                .collect(Collectors.toList());
    }

    private static List<String> refusals(String[] settings, String... more) {
        String[] all = Arrays.copyOf(settings, settings.length + more.length);
        System.arraycopy(more, 0, all, settings.length, more.length);
        return refusals(all);
    }

    /** The defaults are accepted. */
    @Test
    void theDefaultsAreAccepted() {
        assertEquals(List.of(), refusals());
    }

    /** Everything that is wrong is told at once, each in one sentence. */
    @Test
    void allThatIsWrongIsToldAtOnce() {
        assertEquals(
                List.of(
                        "batch.size: got 0, expected 1 to 1000000",
                        "behavior.on.malformed.documents: got shrug, expected one of ignore, warn, report, fail",
                        "behavior.on.null.values: got keep, expected one of ignore, delete, fail",
                        "bulk.size.bytes: got 0, expected at least 1, or -1",
                        "connection.url: got ftp://localhost, expected URLs such as http://localhost:9200",
                        "linger.ms: got -1, expected at least 0",
                        "write.method: got merge, expected one of insert, upsert"),
                refusals(
                        "batch.size", "0",
                        "bulk.size.bytes", "0",
                        "linger.ms", "-1",
                        "write.method", "merge",
                        "behavior.on.null.values", "keep",
                        "behavior.on.malformed.documents", "shrug",
                        "connection.url", "http://a:9200,ftp://localhost"));
    }

    /** A setting that is no number is refused by Kafka's own sentence. */
    @Test
    void aSettingThatIsNoNumberIsRefused() {
        assertEquals(
                List.of("Invalid value many for configuration batch.size: Not a number of type INT"),
                refusals("batch.size", "many"));
    }

    /** With the longest topic, partition and offset an id has 512 bytes, which is the most that a cluster takes. */
    @Test
    void aPrefixLeavesRoomForTheRestOfTheId() {
        assertEquals(List.of(), refusals("id.prefix", "ü".repeat(116)));
        assertEquals(
                List.of("id.prefix: got 233 bytes, expected at most 232"),
                refusals("id.prefix", "ü".repeat(116) + "a"));
        assertEquals(List.of("id.prefix: got a control character, expected none"), refusals("id.prefix", "a\u0085b"));
    }

    /** Settings that contradict one another are refused. */
    @Test
    void contradictionsAreRefused() {
        assertEquals(
                List.of(
                        "connection.password: got nothing, expected a value with connection.username",
                        "key.ignore: got true, expected false with behavior.on.null.values=delete",
                        "key.ignore: got true, expected false with write.method=upsert",
                        "retry.backoff.max.ms: got 50, expected at least retry.backoff.ms=100"),
                refusals(
                        "key.ignore", "true",
                        "write.method", "upsert",
                        "behavior.on.null.values", "delete",
                        "connection.username", "sluice",
                        "retry.backoff.max.ms", "50"));
        assertEquals(
                List.of("routing: got a JSON pointer, expected key or header:NAME with behavior.on.null.values=delete"),
                refusals("routing", "/shop/0", "behavior.on.null.values", "delete"));
        assertEquals(
                List.of("connection.api.key: got a key, expected none with connection.username"),
                refusals("connection.username", "u", "connection.password", "p", "connection.api.key", "k"));
    }

    /** Targets that are not wholly described are refused. */
    @Test
    void halfDescribedTargetsAreRefused() {
        assertEquals(
                List.of(
                        "behavior.on.null.values: got delete, expected ignore or fail with a data stream",
                        "data.stream.type: got none, expected logs or metrics with data.stream.dataset",
                        "external.resource.usage: got DISABLED, expected what the targets of"
                                + " topic.to.external.resource.mapping are",
                        "key.ignore: got false, expected true with a data stream and topics.regex",
                        "write.method: got upsert, expected insert with a data stream"),
                refusals(
                        "data.stream.dataset", "shop",
                        "behavior.on.null.values", "delete",
                        "write.method", "upsert",
                        "topic.to.external.resource.mapping", "a:b"));
        assertEquals(
                List.of(
                        "data.stream.dataset: got nothing, expected a value with data.stream.type",
                        "index.name: got {yyyy-MM-dd-mm}, expected a date pattern of hours or more such as {yyyy.MM.dd}",
                        "metadata.fields: got colour, expected one of topic, partition, offset, timestamp, key, headers",
                        "routing: got field:shop, expected key, header:NAME or a JSON pointer such as /shop/id",
                        "topic.to.external.resource.mapping: got nothing, expected topic:target with"
                                + " external.resource.usage"),
                refusals(
                        "data.stream.type", "logs",
                        "external.resource.usage", "INDEX",
                        "index.name", "b-{yyyy-MM-dd-mm}",
                        "metadata.fields", "key,colour",
                        "routing", "field:shop"));
    }

    /** A way to the cluster that is described by half is refused, secrets unread. */
    @Test
    void aHalfDescribedWayIsRefused() {
        assertEquals(
                List.of(
                        "connection.headers: got something else, expected Name:value, separated by commas",
                        "connection.url: got http URLs, expected https with elastic.security.protocol=SSL",
                        "proxy.host: got nothing, expected a host with credentials for it",
                        "proxy.password: got nothing, expected a value with proxy.username"),
                refusals(
                        "connection.headers", "s3cret",
                        "elastic.security.protocol", "ssl",
                        "proxy.username", "p"));
    }

    /** Credentials in a URL are refused, and not repeated in the refusal. */
    @Test
    void credentialsInUrlsAreRefusedUnread() {
        List<String> refusals = refusals("connection.url", "http://sluice:secret@localhost:9200");
        assertEquals(
                List.of("connection.url: got a URL with credentials in it, expected them in connection.username and"
                        + " connection.password"),
                refusals);
    }

    /** A missing URL is refused as such. */
    @Test
    void theUrlIsRequired() {
        List<String> refusals = SettingsCheck.of(Map.of()).configValues().stream()
                .map(ConfigValue::errorMessages)
                .flatMap(List::stream)
                .collect(Collectors.toList());
        assertEquals(
                List.of("Missing required configuration \"connection.url\" which has no default value."), refusals);
    }

    /** The index is named after the topic in lower case unless a name is given. */
    @Test
    void theIndexIsNamedAfterTheTopic() {
        assertEquals(
                "books",
                new SinkConfig(Map.of("connection.url", "http://a"))
                        .targets()
                        .targetOf("Books")
                        .nameAt(null));
        assertEquals(
                "sluice-books-v2",
                new SinkConfig(Map.of("connection.url", "http://a", "index.name", "sluice-${topic}-v2"))
                        .targets()
                        .targetOf("Books")
                        .nameAt(null));
    }

    /** A bulk request without a limit in bytes is one that -1 asks for. */
    @Test
    void minusOneIsNoLimit() {
        assertEquals(List.of(), refusals("bulk.size.bytes", "-1"));
        SinkConfig config = new SinkConfig(Map.of("connection.url", "http://a", "bulk.size.bytes", "-1"));
        assertEquals(Long.MAX_VALUE, config.requests().bulkSizeBytes());
    }

    /** A password or key shows neither in the settings' text nor in a refusal. */
    @Test
    void secretsAreHidden() {
        SinkConfig config = new SinkConfig(
                Map.of("connection.url", "http://a", "connection.password", "s3cret", "connection.api.key", "k3y"));
        assertFalse((config.connection().password() + " " + config.connection().apiKey()).matches(".*(s3cret|k3y).*"));
    }

    /** Keys that would make ids in a data stream are refused, unless every topic that goes there ignores its keys. */
    @Test
    void keysInADataStreamAreRefused() {
        String[] stream = {"data.stream.type", "logs", "data.stream.dataset", "app"};
        String all = "key.ignore: got false, expected true with a data stream and topics.regex";
        assertEquals(List.of(all), refusals(stream, "topics.regex", "a.*"));
        assertEquals(List.of(all), refusals(stream, "topics.regex", "a.*", "key.ignore.topics", "a"));
        assertEquals(List.of(), refusals(stream, "topics.regex", "a.*", "key.ignore", "true"));
        String some = "key.ignore: got false, expected true with a data stream, or a, b in key.ignore.topics";
        assertEquals(List.of(some), refusals(stream, "topics", "b, a"));
        assertEquals(List.of(some), refusals(stream, "topics", "a,b,c", "topic.key.ignore", "c"));
        assertEquals(List.of(), refusals(stream, "topics", "a,b", "key.ignore.topics", "a", "topic.key.ignore", "b"));
        assertEquals(List.of(), refusals(stream, "topics", "a,b", "key.ignore", "true"));
        String[] mapped = {"topic.to.external.resource.mapping", "a:x, b :y", "external.resource.usage", "DATASTREAM"};
        assertEquals(List.of(some), refusals(mapped, "topics", "a,b,c"));
        assertEquals(List.of(some), refusals(mapped, "topics.regex", ".*"));
        assertEquals(List.of(), refusals(mapped, "topics", "a,b,c", "key.ignore.topics", "a,b"));
        mapped[3] = "alias_datastream";
        assertEquals(List.of(some), refusals(mapped, "topics", "a,b,c"));
        mapped[3] = "ALIAS_INDEX";
        assertEquals(List.of(), refusals(mapped, "topics", "a,b,c"));
        String[] both = {
            "topic.to.external.resource.mapping", "a:x", "external.resource.usage", "INDEX",
            "data.stream.type", "logs", "data.stream.dataset", "app"
        };
        assertEquals(
                List.of("key.ignore: got false, expected true with a data stream, or b in key.ignore.topics"),
                refusals(both, "topics", "a,b"));
        assertEquals(List.of(), refusals(both, "topics", "a"));
    }

    /** Deletes find no document in an index whose name has the tombstone's date in it. */
    @Test
    void deletesInDatedIndicesAreRefused() {
        String[] deletes = {"index.name", "b-{yyyy.MM}", "behavior.on.null.values", "delete"};
        List<String> refused = List.of("index.name: got a date in it, expected none with behavior.on.null.values=delete"
                + " (a tombstone is of another time than its document)");
        assertEquals(refused, refusals(deletes));
        assertEquals(refused, refusals(deletes, "topics", "a"));
        assertEquals(refused, refusals(deletes, "topics", "a,b", "key.ignore.topics", "a"));
        assertEquals(List.of(), refusals(deletes, "topics", "a", "key.ignore.topics", "a"));
        String[] mapped = {"topic.to.external.resource.mapping", "a:x", "external.resource.usage", "INDEX"};
        assertEquals(List.of(), refusals(deletes, "topics", "a", mapped[0], mapped[1], mapped[2], mapped[3]));
        assertEquals(refused, refusals(deletes, "topics", "a,b", mapped[0], mapped[1], mapped[2], mapped[3]));
        deletes[3] = "ignore";
        assertEquals(List.of(), refusals(deletes));
    }

    /** Rewritten deletes are allowed where tombstones may delete, and nowhere else. */
    @Test
    void rewrittenDeletesNeedDeletes() {
        String[] rewritten = {"deleted.field", "__deleted"};
        assertEquals(
                List.of("deleted.field: got __deleted, expected behavior.on.null.values=delete with it: alone it has"
                        + " no effect"),
                refusals(rewritten));
        assertEquals(List.of(), refusals(rewritten, "behavior.on.null.values", "delete"));
        assertEquals(
                List.of("key.ignore: got true, expected false with behavior.on.null.values=delete"),
                refusals(rewritten, "behavior.on.null.values", "delete", "key.ignore", "true"));
    }

    /** Reports need a dead-letter queue: a worker takes them without one, and only logs them. */
    @Test
    void reportsNeedAQueue() {
        String[] report = {"behavior.on.malformed.documents", "report"};
        List<String> refused = List.of("behavior.on.malformed.documents: got report without a dead-letter queue,"
                + " expected errors.tolerance=all and errors.deadletterqueue.topic.name");
        String topic = "errors.deadletterqueue.topic.name";
        assertEquals(refused, refusals(report));
        assertEquals(refused, refusals(report, "errors.tolerance", "all", "errors.log.enable", "true"));
        assertEquals(refused, refusals(report, "errors.tolerance", "all", topic, " "));
        assertEquals(refused, refusals(report, "errors.tolerance", "none", topic, "bad"));
        assertEquals(refused, refusals(report, topic, "bad"));
        assertEquals(List.of(), refusals(report, "errors.tolerance", " All", topic, "bad"));
    }

    /** What the worker does with reported records is read from its own settings. */
    @Test
    void theWorkersSettingsSayWhatBecomesOfReports() {
        assertFalse(ErrantRecords.areLogged(Map.of()));
        assertFalse(ErrantRecords.areLogged(Map.of("errors.log.enable", "false")));
        assertTrue(ErrantRecords.areLogged(Map.of("errors.log.enable", " True ")));
        assertFalse(ErrantRecords.haveAQueue(Map.of()));
        assertTrue(ErrantRecords.haveAQueue(
                Map.of("errors.tolerance", "all", "errors.deadletterqueue.topic.name", "bad")));
    }

    /** A setting that is left blank is not given, whichever it is and whatever its type; a missing value neither. */
    @Test
    void blankSettingsAreNotGiven() {
        for (String key : SinkConfig.definition().names()) {
            for (String blank : new String[] {"", " ", "\t\n", null}) {
                List<String> expected = key.equals("connection.url")
                        ? List.of("Missing required configuration \"connection.url\" which has no default value.")
                        : List.of();
                assertEquals(expected, refusals(key, blank), key);
            }
        }
        Map<String, String> blanks = new HashMap<>();
        SinkConfig.definition().names().forEach(key -> blanks.put(key, " "));
        blanks.put("connection.url", "http://a");
        SinkConfig config = new SinkConfig(blanks);
        assertNull(config.connection().username());
        assertNull(config.connection().apiKey());
        assertFalse(config.connection().hasCredentials());
        assertNull(config.tls().truststore().location());
        assertEquals("JKS", config.tls().keystore().type());
        assertEquals("books", config.targets().targetOf("Books").nameAt(null));
        assertEquals("kafka", config.documents().metadataObject());
        assertEquals(2_000, config.requests().batchSize());
        assertEquals(
                List.of("connection.password: got nothing, expected a value with connection.username"),
                refusals("connection.username", "u", "connection.password", " "));
    }

    /** The one setting whose empty value says something: no check of host names. */
    @Test
    void noIdentificationIsGivenByNothing() {
        String key = "elastic.https.ssl.endpoint.identification.algorithm";
        assertTrue(new SinkConfig(Map.of("connection.url", "http://a")).tls().hostVerified());
        assertFalse(new SinkConfig(Map.of("connection.url", "http://a", key, ""))
                .tls()
                .hostVerified());
    }

    /** URLs are read as URLs: with or without a port, a slash or a path, of names, addresses and containers. */
    @Test
    void urlsAreReadAsUrls() {
        String[][] urls = {
            {"http://host", "http://host"},
            {"http://host/", "http://host"},
            {"http://host:9200/", "http://host:9200"},
            {"HTTPS://Host:", "https://Host"},
            {"https://[::1]", "https://[::1]"},
            {"https://[::1]:9200/", "https://[::1]:9200"},
            {"http://es_1:9200", "http://es_1:9200"},
            {"http://my_stack-es_1/", "http://my_stack-es_1"},
            {"http://10.0.0.1:65535", "http://10.0.0.1:65535"},
            {"http://host//", "http://host"},
            {"https://host/es", "https://host/es"},
            {"https://host:9243/a/b%20c/", "https://host:9243/a/b%20c"},
            {"http://es_1:9200/es/", "http://es_1:9200/es"},
        };
        for (String[] url : urls) {
            assertEquals(List.of(), refusals("connection.url", url[0]));
            SinkConfig config = new SinkConfig(Map.of("connection.url", url[0]));
            assertEquals(url[1], url(config.connection().nodes().get(0)));
        }
        SinkConfig config = new SinkConfig(Map.of("connection.url", "http://a:9200/, https://[::1]"));
        assertEquals("a:9200 or [::1]", config.connection().hostNames());
    }

    private static String url(NodeUrl node) {
        return node.scheme() + "://" + node;
    }

    /** What is no URL of a node is refused in one sentence, in which nothing stands that may be secret. */
    @Test
    void otherUrlsAreRefused() {
        String more = "a URL with a query or a fragment, expected scheme, host, port and path alone, such as"
                + " http://localhost:9200";
        String malformed = "a malformed URL, expected URLs such as http://localhost:9200";
        String credentials =
                "a URL with credentials in it, expected them in connection.username and connection.password";
        String[][] urls = {
            {"http://host/?q", more},
            {"http://host/es?key=s3cret", more},
            {"http://host#f", more},
            {"localhost:9200", "localhost:9200, expected URLs such as http://localhost:9200"},
            {"localhost", "localhost, expected URLs such as http://localhost:9200"},
            {"gopher://host", "gopher://host, expected URLs such as http://localhost:9200"},
            {"http:host", "http:host, expected URLs such as http://localhost:9200"},
            {"http:///", "http:///, expected URLs such as http://localhost:9200"},
            {"http://", malformed},
            {"http://:9200", malformed},
            {"http://ho st", malformed},
            {"http://[::1", malformed},
            {"http://h\u00f6st", malformed},
            {"http://host:port", malformed},
            {"http://host:123456", "port 123456, expected 1 to 65535"},
            {"http://ho_st:99999999999", malformed},
            {"http://host:65536", "port 65536, expected 1 to 65535"},
            {"http://ho_st:0", "port 0, expected 1 to 65535"},
            {"u:s3cret@host:9200", credentials},
            {"http://u:s3cret@ho_st:9200", credentials},
        };
        for (String[] url : urls) {
            assertEquals(List.of("connection.url: got " + url[1]), refusals("connection.url", url[0]));
        }
        assertEquals(
                List.of("proxy.host: got http://proxy, expected a host's name or address alone"),
                refusals("proxy.host", "http://proxy"));
    }

    /** A target named for a topic is taken as it stands there; only what the sink puts together is in lower case. */
    @Test
    void mappedTargetsAreTakenAsTheyAre() {
        String mapping = "Books:Books_Alias, a : b{yyyy} ,c :D";
        String[] settings = {"topic.to.external.resource.mapping", mapping, "external.resource.usage", "ALIAS_INDEX"};
        assertEquals(List.of(), refusals(settings));
        TargetSettings targets = new SinkConfig(
                        Map.of("connection.url", "http://x", settings[0], settings[1], settings[2], settings[3]))
                .targets();
        String[][] names = {{"Books", "Books_Alias"}, {"a", "b{yyyy}"}, {"c", "D"}, {"Other", "other"}};
        for (String[] name : names) {
            assertEquals(name[1], targets.targetOf(name[0]).nameAt(null));
            assertEquals(name[1], targets.targetOf(name[0]).pattern());
        }
        assertEquals("aliases", targets.kindOf("c"));
        assertEquals(
                List.of("topic.to.external.resource.mapping: got a:, expected topic:target"),
                refusals("topic.to.external.resource.mapping", "a: ,b:c", "external.resource.usage", "INDEX"));
    }

    /** A data stream's name may hold dates, which are checked like those of an index. */
    @Test
    void datesInADataStreamsNameAreChecked() {
        String[] stream = {"data.stream.type", "logs", "data.stream.dataset", "App-{mm}", "key.ignore", "true"};
        assertEquals(
                List.of("data.stream.dataset: got {mm}, expected a date pattern of hours or more such as {yyyy.MM.dd}"),
                refusals(stream));
        assertEquals(
                List.of("data.stream.namespace: got {b}, expected a date pattern of hours or more such as"
                        + " {yyyy.MM.dd}"),
                refusals("data.stream.namespace", "{b}"));
        stream[3] = "App-{MMM}";
        assertEquals(List.of(), refusals(stream));
        Map<String, String> settings = new HashMap<>(Map.of("connection.url", "http://a"));
        for (int i = 0; i < stream.length; i += 2) {
            settings.put(stream[i], stream[i + 1]);
        }
        Target target = new SinkConfig(settings).targets().targetOf("Books");
        assertEquals("logs-app-jan-books", target.nameAt(0L));
        assertEquals("logs-app-*-books", target.pattern());
    }

    /** PEM is given in a file or in the settings, and its stores have no password, as with Kafka's own keys. */
    @Test
    void pemIsGivenInOnePlace() {
        String trust = "elastic.https.ssl.truststore.";
        String shown = "elastic.https.ssl.keystore.";
        String[] secured = {"connection.url", "https://a", "elastic.security.protocol", "SSL"};
        assertEquals(List.of(), refusals(secured, trust + "type", "pem", trust + "certificates", "x"));
        assertEquals(
                List.of(trust + "type: got JKS, expected PEM with " + trust + "certificates"),
                refusals(secured, trust + "certificates", "x"));
        assertEquals(
                List.of(trust + "location: got a path, expected none with " + trust + "certificates"),
                refusals(secured, trust + "type", "PEM", trust + "certificates", "x", trust + "location", "ca.crt"));
        assertEquals(
                List.of(trust + "password: got a password, expected none with PEM; that of a private key is"
                        + " elastic.https.ssl.key.password"),
                refusals(secured, trust + "type", "PEM", trust + "location", "ca.crt", trust + "password", "s3cret"));
        assertEquals(
                List.of(shown + "key: got nothing, expected a value with " + shown + "certificate.chain"),
                refusals(secured, shown + "type", "PEM", shown + "certificate.chain", "x"));
        assertEquals(
                List.of(shown + "certificate.chain: got nothing, expected a value with " + shown + "key"),
                refusals(secured, shown + "type", "PEM", shown + "key", "s3cret"));
    }

    /** Stores are not left aside silently. */
    @Test
    void storesNeedTls() {
        String store = "elastic.https.ssl.truststore.location";
        assertEquals(
                List.of("elastic.security.protocol: got PLAINTEXT, expected SSL with " + store),
                refusals("connection.url", "https://a", store, "/ca.jks"));
    }

    /** Whoever asks is named in one way. */
    @Test
    void onlyOneKindOfCredentialsIsGiven() {
        String[] token = {"connection.bearer.token", "abc.d-e_f~g+h/i=="};
        assertEquals(List.of(), refusals(token));
        assertEquals(
                List.of("connection.bearer.token: got a token, expected none with connection.username"),
                refusals(token, "connection.username", "u", "connection.password", "p"));
        assertEquals(
                List.of("connection.bearer.token: got a token, expected none with connection.api.key"),
                refusals(token, "connection.api.key", "k"));
        List<String> twice =
                List.of("connection.headers: got Authorization, expected other headers with connection.bearer.token");
        assertEquals(twice, refusals(token, "connection.headers", "X-Tenant:a, authorization:s3cret"));
        assertEquals(List.of(), refusals(token, "connection.headers", "X-Tenant:a"));
        assertEquals(List.of(), refusals("connection.headers", "Authorization:s3cret"));
    }

    /** A token is what a header may hold, and is not repeated. */
    @Test
    void whatIsNoTokenIsRefused() {
        for (String token : new String[] {"Bearer s3cret", "s3\ncret", "s3cret=x", "=", "s\u00e9cret"}) {
            assertEquals(
                    List.of("connection.bearer.token: got something else, expected a token of letters, digits and"
                            + " -._~+/="),
                    refusals("connection.bearer.token", token));
        }
    }

    /** A file is only sent to others if the worker allows that: nobody who may create a connector can read its files. */
    @Test
    void theWorkerAllowsFilesOfTokens() {
        String key = "connection.bearer.token.file";
        String property = "sluice.bearer.token.files";
        List<String> refused =
                List.of(key + ": got /run/token, expected a file that the worker allows; start it with -D" + property
                        + "=/run/token");
        assertEquals(refused, refusals(key, "/run/token"));
        try {
            System.setProperty(property, "/run/tokens, /run/token/");
            assertEquals(refused, refusals(key, "/run/token"));
            System.setProperty(property, "/run/other , /run/token");
            assertEquals(List.of(), refusals(key, "/run/token"));
        } finally {
            System.clearProperty(property);
        }
    }

    /** The server ignores the pipeline of an upsert, whether it exists or not. */
    @Test
    void pipelinesOfUpsertsAreRefused() {
        assertEquals(
                List.of("pipeline: got p, expected none with write.method=upsert: the cluster applies no pipeline to"
                        + " upserts"),
                refusals("pipeline", "p", "write.method", "upsert"));
        assertEquals(List.of(), refusals("pipeline", "p"));
    }

    /** What is changed and does nothing beside the others is refused; defaults, which user interfaces give, are not. */
    @Test
    void settingsWithoutEffectAreRefused() {
        String[][] idle = {
            {"use.autogenerated.ids", "true", "key.ignore=true or key.ignore.topics", "key.ignore.topics", "a"},
            {"metadata.object", "k", "metadata.fields", "metadata.fields", "offset"},
            {"proxy.port", "3128", "proxy.host", "proxy.host", "p"},
            {"elastic.https.ssl.protocol", "TLSv1.2", "elastic.security.protocol=SSL", "connection.url", "https://a"},
        };
        for (String[] each : idle) {
            assertEquals(
                    List.of(each[0] + ": got " + each[1] + ", expected " + each[2]
                            + " with it: alone it has no effect"),
                    refusals(each[0], each[1]));
            String[] more = each[0].endsWith("ssl.protocol")
                    ? new String[] {each[3], each[4], "elastic.security.protocol", "SSL"}
                    : new String[] {each[3], each[4]};
            assertEquals(List.of(), refusals(new String[] {each[0], each[1]}, more));
        }
        assertEquals(
                List.of("key.fields: got shop,id, expected key.ignore=false with it: alone it has no effect"),
                refusals("key.fields", "shop,id", "key.ignore", "true"));
        assertEquals(List.of(), refusals("key.fields", "shop,id"));
        String[] time = {"data.stream.timestamp.field", "at"};
        assertEquals(
                List.of("data.stream.timestamp.field: got at, expected data.stream.dataset or a data stream in"
                        + " topic.to.external.resource.mapping with it: alone it has no effect"),
                refusals(time));
        assertEquals(
                List.of(),
                refusals(time, "data.stream.dataset", "d", "data.stream.type", "logs", "key.ignore", "true"));
        assertEquals(
                List.of("data.stream.namespace: got n, expected data.stream.dataset with it: alone it has no effect"),
                refusals("data.stream.namespace", "n"));
        Map<String, String> defaults = new HashMap<>(Map.of("connection.url", "http://a"));
        SinkConfig.definition().configKeys().values().stream()
                .filter(key -> key.hasDefault() && key.defaultValue != null)
                .forEach(key -> defaults.put(key.name, ConfigDef.convertToString(key.defaultValue, key.type)));
        assertEquals(
                List.of(),
                SettingsCheck.of(defaults).configValues().stream()
                        .flatMap(value -> value.errorMessages().stream())
                        .toList());
    }
}
