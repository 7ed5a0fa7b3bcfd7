package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.connect.config.SettingsCheck;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.connect.runtime.SinkConnectorConfig;
import org.junit.jupiter.api.Test;

/** Keys that neither the sink nor Connect reads. */
class UnknownKeysTest {
    private static final String WARNING = "unknown key";

    private static Map<String, String> given(String... keys) {
        Map<String, String> given = new HashMap<>(Map.of("connection.url", "http://localhost:9200"));
        for (String key : keys) {
            given.putIfAbsent(key, "7");
        }
        return given;
    }

    private static List<String> refusals(Map<String, String> given) {
        return SettingsCheck.of(given).configValues().stream()
                .map(ConfigValue::errorMessages)
                .flatMap(List::stream)
                .sorted()
                .toList();
    }

    private static int warnings(Map<String, String> given) {
        try (CapturedLog log = new CapturedLog()) {
            assertEquals(List.of(), refusals(given));
            return log.linesWith(WARNING).size();
        }
    }

    /** The error stands at the setting that was meant, where user interfaces show it. */
    @Test
    void aKeyThatIsAlmostOneOfTheSinksIsRefused() {
        assertEquals(
                List.of(
                        "batch.size: got the unknown key batchSize, expected batch.size",
                        "linger.ms: got the unknown key linger, expected linger.ms",
                        "max.in.flight.requests: got the unknown key max.in.fligth.requests, expected"
                                + " max.in.flight.requests"),
                refusals(given("batchSize", "linger", "max.in.fligth.requests")));
    }

    /** Another connector's keys stay in configurations that moved here; an extension of the worker may read a key. */
    @Test
    void otherUnknownKeysAreWarnedOf() {
        assertEquals(3, warnings(given("flush.synchronously", "topic.schema.ignore", "extension.level")));
    }

    /** The worker hands over keys of its own. */
    @Test
    void keysOfConnectAreKnown() {
        Map<String, String> given =
                given(SinkConnectorConfig.configDef().names().toArray(String[]::new));
        given.put("topics", "books");

        assertEquals(0, warnings(given));
    }

    /** A key that only begins as one of Connect's do. */
    @Test
    void typingErrorsOfConnectsKeysAreWarnedOf() {
        assertEquals(4, warnings(given("errors.tolerence", "connector.foo", "tasks.maximum", "config.bar")));
    }

    /** They belong to what the configuration names below Connect's own keys. */
    @Test
    void keysOfConvertersTransformsPredicatesAndClientsAreKnown() {
        assertEquals(
                0,
                warnings(given(
                        "value.converter.schemas.enable",
                        "transforms.drop.type",
                        "predicates.is.pattern",
                        "consumer.override.max.poll.records",
                        "errors.deadletterqueue.topic.replication.factor")));
    }
}
