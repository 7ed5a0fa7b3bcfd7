package io.sluice.connect.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
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
}
