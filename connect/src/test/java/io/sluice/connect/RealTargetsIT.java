package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Which indices, aliases and data streams are asked for and written to; the server as for {@link RealElasticsearch}. */
@EnabledIfEnvironmentVariable(named = "SLUICE_TEST_ELASTICSEARCH_URL", matches = "http.*")
class RealTargetsIT extends RealElasticsearch {
    /**
     * Each event of a key is stored where a data stream is said to be, also when the settings say that keys make ids. A
     * plain index takes the same creates, and every build of Elasticsearch has one.
     */
    @Test
    void keyedEventsInADataStreamAreAllStored() throws Exception {
        try (TaskHarness harness = harness(
                "behavior.on.null.values", "ignore",
                "external.resource.usage", "DATASTREAM",
                "topic.to.external.resource.mapping", "books:" + INDEX)) {
            for (int round = 0; round < 2; round++) {
                harness.seek(0);
                for (int event = 0; event < 3; event++) {
                    harness.put(List.of(harness.record(
                            "host-1", "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"price\":" + event + "}")));
                    harness.putUntilCompleted();
                }
            }
            assertEquals(Map.of("Indexed", 3L, "AlreadyThere", 3L), harness.fates());
            assertEquals(3, count());
        }
    }

    /** An alias in upper case is written to under its name. */
    @Test
    void anAliasInUpperCaseIsWrittenTo() throws Exception {
        ask("PUT", "/" + INDEX + "/_alias/Sluice_Alias_IT", null);
        String[] mapping = mapping("Sluice_Alias_IT", "ALIAS_INDEX");
        assertEquals(List.of(), refusals(mapping));
        try (TaskHarness harness = harness(mapping)) {
            harness.put(List.of(harness.record("a", "{}")));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 1L), harness.fates());
            assertEquals(1, count());
        }
    }

    /** With auto.create=false an index that was deleted while the task runs does not come back. */
    @Test
    void aDeletedIndexDoesNotComeBack() throws Exception {
        try (TaskHarness harness = harness("auto.create", "false", "flush.timeout.ms", "0")) {
            harness.put(List.of(harness.record("a", "{}")));
            harness.putUntilCompleted();
            ask("DELETE", "/" + INDEX, null);
            Thread.sleep(1_103);
            harness.putUntilFailed(List.of(harness.record("b", "{}")));
            String answer = ask("GET", "/" + INDEX, null);
            assertTrue(answer.endsWith("\"status\":404}"), answer);
        }
    }

    /** The server says that a primary shard is missing before nobody waits for its answer. */
    @Test
    void anIndexWithoutAPrimaryShardIsNamedByTheServer() throws Exception {
        ask("DELETE", "/" + INDEX, null);
        ask(
                "PUT",
                "/" + INDEX + "?wait_for_active_shards=0",
                "{\"settings\":{\"number_of_replicas\":0,\"index.routing.allocation.require._name\":\"nobody\"}}");
        try (TaskHarness harness = harness("read.timeout.ms", "3000", "flush.timeout.ms", "0")) {
            harness.put(List.of(harness.record("a", "{}")));
            while (harness.text("LastError").isEmpty()) {
                Thread.sleep(103);
            }
            String error = harness.text("LastError");
            assertTrue(error.startsWith("status 503 unavailable_shards_exception"), error);
        }
    }

    /** A URL as a user copies it, with a slash at its end, is accepted and written to. */
    @Test
    void aSlashBehindTheUrlIsNoFault() throws Exception {
        assertEquals(List.of(), refusals("connection.url", URL + "/", "connection.username", "", "index.name", ""));
        try (TaskHarness harness = new TaskHarness(URL + "/", Map.of("index.name", INDEX))) {
            harness.put(List.of(harness.record("a", "{}")));
            harness.putUntilCompleted();
            assertEquals(1, count());
        }
    }

    /** An index that may not be created fails the task; one that exists is written to. */
    @Test
    void aMissingIndexFailsTheTaskWhenItMayNotBeCreated() throws Exception {
        try (TaskHarness harness = harness("auto.create", "false")) {
            harness.put(List.of(harness.record("a", "{}")));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 1L), harness.fates());
        }
        try (TaskHarness harness = harness("auto.create", "false", "index.name", "sluice-it-missing")) {
            ConnectException failure = harness.putUntilFailed(List.of(harness.record("a", "{}")));
            assertEquals(
                    "bulk request to sluice-it-missing: status 404 index_not_found_exception: no index, alias or data"
                            + " stream has this name, and auto.create is false (attempt 1, first record concerned"
                            + " books-0@0)",
                    failure.getMessage());
        }
    }

    /** The cluster is asked without any cluster privilege: a target that is missing is told of, one that is there is not. */
    @Test
    void theClusterIsAskedForItsTargets() throws Exception {
        ask("PUT", "/" + INDEX + "/_alias/sluice-alias-it", null);
        assertEquals(List.of(), refusals("index.name", INDEX));
        assertEquals(List.of(), refusals("index.name", INDEX, "auto.create", "false"));
        assertEquals(List.of(), refusals(mapping("sluice-alias-it", "ALIAS_INDEX")));
        assertEquals(
                List.of("auto.create: got sluice-it-missing for books, which does not exist, expected a target that"
                        + " does; create it first"),
                refusals("index.name", "sluice-it-missing", "auto.create", "false"));
        assertEquals(
                List.of("topic.to.external.resource.mapping: got sluice-alias-it for books, expected an index, as"
                        + " external.resource.usage says"),
                refusals(mapping("sluice-alias-it", "INDEX")));
    }

    /** A data stream of any name takes creates with an @timestamp; what is read again is already there, another is not. */
    @Test
    void aReplayIntoADataStreamIsAlreadyThere() throws Exception {
        ask("DELETE", "/_data_stream/sluice-stream-it", null);
        ask(
                "PUT",
                "/_index_template/sluice-stream-it",
                "{\"index_patterns\":[\"sluice-stream-it\"],\"data_stream\":{},\"priority\":500,"
                        + "\"template\":{\"settings\":{\"number_of_replicas\":0}}}");
        String made = ask("PUT", "/_data_stream/sluice-stream-it", null);
        assumeTrue(made.contains("acknowledged"), "the server has no data streams: " + made);
        try (TaskHarness harness = harness(
                "key.ignore", "true",
                "behavior.on.null.values", "ignore",
                "external.resource.usage", "DATASTREAM",
                "topic.to.external.resource.mapping", "books:sluice-stream-it")) {
            for (int round = 0; round < 2; round++) {
                harness.seek(0);
                harness.put(List.of(
                        harness.record(null, "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"price\":1}"),
                        harness.record(null, "{\"@timestamp\":1,\"price\":2}")));
                harness.putUntilCompleted();
            }
            assertEquals(Map.of("Indexed", 2L, "AlreadyThere", 2L), harness.fates());
            harness.seek(0);
            harness.put(List.of(harness.record(null, "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"price\":3}")));
            harness.putUntilCompleted();
            assertEquals(1, harness.attribute("RecordsConflicted"));
        } finally {
            ask("DELETE", "/_data_stream/sluice-stream-it", null);
            ask("DELETE", "/_index_template/sluice-stream-it", null);
        }
    }

    /** An alias is written to like its index, with versions from a header, routing and Kafka's fields. */
    @Test
    void anAliasIsWrittenToWithAllThatIsAdded() throws Exception {
        ask("PUT", "/" + INDEX + "/_alias/sluice-alias-it", null);
        String[] settings = {
            "external.resource.usage", "ALIAS_INDEX",
            "topic.to.external.resource.mapping", "books:sluice-alias-it",
            "external.version.header", "v",
            "routing", "key",
            "metadata.fields", "topic,partition,offset,key",
            "connection.compression", "true"
        };
        try (TaskHarness harness = harness(settings)) {
            SinkRecord newer = harness.record("a", "{\"price\":2}");
            newer.headers().add("v", "1009".getBytes(UTF_8), null);
            SinkRecord older = harness.record("a", "{\"price\":1}");
            older.headers().add("v", "1000".getBytes(UTF_8), null);
            harness.put(List.of(newer, older));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 1L, "Stale", 1L), harness.fates());
            String stored = ask("GET", "/" + INDEX + "/_doc/a?routing=a", null);
            assertTrue(stored.contains("\"_version\":1009"), stored);
            assertTrue(
                    stored.contains("{\"kafka\":{\"topic\":\"books\",\"partition\":0,\"offset\":0,\"key\":\"a\"},"
                            + "\"price\":2,"),
                    stored);
        }
    }

    /** A document is found by the routing that stands in it; one without it by its id. */
    @Test
    void documentsAreRoutedByWhatStandsInThem() throws Exception {
        ask("DELETE", "/" + INDEX, null);
        ask("PUT", "/" + INDEX, "{\"settings\":{\"number_of_shards\":5,\"number_of_replicas\":0}}");
        try (TaskHarness harness = harness("routing", "/subInfo/shop", "behavior.on.null.values", "ignore")) {
            harness.put(List.of(
                    harness.record("a", "{\"subInfo\":{\"shop\":\"s7\"}}"),
                    harness.record("b", "{\"subInfo\":{\"shop\":{}}}"),
                    harness.record("c", "{\"subInfo\":{}}")));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 2L, "DeadLettered", 1L), harness.fates());
            String stored = ask("GET", "/" + INDEX + "/_doc/a?routing=s7", null);
            assertTrue(stored.contains("\"_routing\":\"s7\""), stored);
            String unrouted = ask("GET", "/" + INDEX + "/_doc/c", null);
            assertTrue(unrouted.contains("\"found\":true") && !unrouted.contains("_routing"), unrouted);
        }
    }

    /** Two indices by date, made by Elasticsearch. */
    @Test
    void datesMakeIndices() throws Exception {
        ask("DELETE", "/sluice-it-2024.02.28,sluice-it-2024.02.29", null);
        try (TaskHarness harness = harness(
                "index.name",
                INDEX + "-{yyyy.MM.dd}",
                "use.autogenerated.ids",
                "true",
                "key.ignore",
                "true",
                "behavior.on.null.values",
                "ignore")) {
            for (long timestamp : new long[] {1_709_164_799_999L, 1_709_164_800_000L}) {
                SinkRecord record = harness.record(null, null);
                harness.put(List.of(new SinkRecord(
                        "books",
                        0,
                        null,
                        null,
                        null,
                        "{}".getBytes(UTF_8),
                        record.kafkaOffset(),
                        timestamp,
                        org.apache.kafka.common.record.TimestampType.CREATE_TIME)));
            }
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 2L), harness.fates());
            for (String day : new String[] {"28", "29"}) {
                ask("POST", "/sluice-it-2024.02." + day + "/_refresh", null);
                assertEquals(
                        "{\"count\":1}", ask("GET", "/sluice-it-2024.02." + day + "/_count?filter_path=count", null));
            }
        } finally {
            ask("DELETE", "/sluice-it-2024.02.28,sluice-it-2024.02.29", null);
        }
    }

    private static String[] mapping(String target, String usage) {
        return new String[] {"topic.to.external.resource.mapping", "books:" + target, "external.resource.usage", usage};
    }

    private static List<String> refusals(String... settings) {
        Map<String, String> given = new java.util.HashMap<>(Map.of("connection.url", URL, "topics", "books"));
        for (int i = 0; i < settings.length; i += 2) {
            given.put(settings[i], settings[i + 1]);
        }
        return new ElasticsearchSinkConnector()
                .validate(given).configValues().stream()
                        .flatMap(value -> value.errorMessages().stream())
                        .toList();
    }
}
