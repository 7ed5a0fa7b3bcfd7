package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * What ingest pipelines of the cluster drop, refuse and change; the server as for {@link RealElasticsearch}. Elasticsearch's
 * plain build has no processors: the tests are skipped there.
 */
@EnabledIfEnvironmentVariable(named = "SLUICE_TEST_ELASTICSEARCH_URL", matches = "http.*")
class RealPipelinesIT extends RealElasticsearch {
    private static final String PIPELINE = "sluice-it";
    private static final String OTHER = "sluice-it-other";
    private static final String STREAM = "sluice-stream-it";
    private static final int RECORDS = 13;
    private static final String DROP_EACH_THIRD = "{\"drop\":{\"if\":\"ctx.price % 3 == 0\"}}";
    /** Its message quotes the document, which no log line may. */
    private static final String FAIL_FIVE = "{\"fail\":{\"if\":\"ctx.price == 5\",\"message\":\"unwanted: {{m}}\"}}";

    @BeforeEach
    void requireProcessors() throws Exception {
        String processors = ask("GET", "/_nodes/ingest?filter_path=nodes.*.ingest.processors.type", null);
        assumeTrue(processors.contains("\"drop\""), "the server has no ingest-common, so no drop, fail and script");
    }

    @AfterEach
    void removeAll() throws Exception {
        ask("DELETE", "/" + OTHER, null);
        ask("DELETE", "/_data_stream/" + STREAM, null);
        ask("DELETE", "/_index_template/" + STREAM, null);
        // One that is the default of an index cannot be deleted before it.
        ask("DELETE", "/" + INDEX, null);
        ask("DELETE", "/_ingest/pipeline/" + PIPELINE, null);
    }

    private static void pipeline(String... processors) throws IOException, InterruptedException {
        String body = "{\"processors\":[" + String.join(",", processors) + "]}";
        String made = ask("PUT", "/_ingest/pipeline/" + PIPELINE, body);
        assertTrue(made.contains("acknowledged"), made);
    }

    private static String set(String field, String value, int price) {
        return "{\"set\":{\"if\":\"ctx.price == " + price + "\",\"field\":\"" + field + "\",\"value\":\"" + value
                + "\"}}";
    }

    private static TaskHarness piped(String... more) {
        String[] all = new String[more.length + 2];
        System.arraycopy(more, 0, all, 2, more.length);
        all[0] = "pipeline";
        all[1] = PIPELINE;
        return harness(all);
    }

    /** Prices from 0 on; keys are the prices. */
    private static List<SinkRecord> prices(TaskHarness harness) {
        List<SinkRecord> records = new ArrayList<>();
        for (int price = 0; price < RECORDS; price++) {
            records.add(harness.record("k" + price, "{\"@timestamp\":1,\"price\":" + price + "}"));
        }
        return records;
    }

    private static long countIn(String target) throws IOException, InterruptedException {
        ask("POST", "/" + target + "/_refresh", null);
        return Long.parseLong(
                ask("GET", "/" + target + "/_count?filter_path=count", null).replaceAll("\\D", ""));
    }

    private static void assertDropped(TaskHarness harness, String target) throws Exception {
        harness.put(prices(harness));
        harness.putUntilCompleted();
        assertEquals(Map.of("Indexed", 8L, "DroppedByPipeline", 5L), harness.fates());
        assertEquals(8, countIn(target));
        assertEquals(RECORDS, harness.committable());
        assertEquals(Set.of(), harness.deadLetters);
    }

    /** What a pipeline drops is neither stored nor rejected; so it is when it is read again. */
    @Test
    void droppedDocumentsAreCountedAsThat() throws Exception {
        pipeline(DROP_EACH_THIRD);
        try (TaskHarness harness = piped()) {
            assertDropped(harness, INDEX);
            harness.put(List.of(harness.record("k3", null), harness.record("k4", null)));
            harness.putUntilCompleted();
            assertEquals(
                    Map.of("Indexed", 8L, "DroppedByPipeline", 5L, "AlreadyThere", 1L, "Deleted", 1L), harness.fates());
        }
    }

    @Test
    void droppedDocumentsWithIdsOfTheirOriginAreCounted() throws Exception {
        pipeline(DROP_EACH_THIRD);
        try (TaskHarness harness = piped("key.ignore", "true", "behavior.on.null.values", "ignore")) {
            assertDropped(harness, INDEX);
            harness.seek(0);
            harness.put(prices(harness));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 8L, "DroppedByPipeline", 10L, "AlreadyThere", 8L), harness.fates());
        }
    }

    /** Their items have no id of ours to be told by. */
    @Test
    void droppedDocumentsWithIdsOfTheClusterAreCounted() throws Exception {
        pipeline(DROP_EACH_THIRD);
        try (TaskHarness harness =
                piped("use.autogenerated.ids", "true", "key.ignore", "true", "behavior.on.null.values", "ignore")) {
            assertDropped(harness, INDEX);
        }
    }

    /** Items of dropped documents name the alias, the others its index. */
    @Test
    void documentsDroppedBehindAnAliasAreCounted() throws Exception {
        ask("PUT", "/" + INDEX + "/_alias/sluice-alias-it", null);
        pipeline(DROP_EACH_THIRD);
        try (TaskHarness harness = piped(
                "external.resource.usage", "ALIAS_INDEX",
                "topic.to.external.resource.mapping", "books:sluice-alias-it")) {
            assertDropped(harness, INDEX);
        }
    }

    @Test
    void documentsDroppedBeforeADataStreamAreCounted() throws Exception {
        ask(
                "PUT",
                "/_index_template/" + STREAM,
                "{\"index_patterns\":[\"" + STREAM + "\"],\"data_stream\":{},\"priority\":500,"
                        + "\"template\":{\"settings\":{\"number_of_replicas\":0}}}");
        ask("PUT", "/_data_stream/" + STREAM, null);
        pipeline(DROP_EACH_THIRD);
        try (TaskHarness harness = piped(
                "behavior.on.null.values", "ignore",
                "external.resource.usage", "DATASTREAM",
                "topic.to.external.resource.mapping", "books:" + STREAM)) {
            assertDropped(harness, STREAM);
        }
    }

    /** Also where the pipeline is the index's own, of which the settings say nothing. */
    @Test
    void theDefaultPipelineOfAnIndexDropsAndFails() throws Exception {
        pipeline(DROP_EACH_THIRD, FAIL_FIVE);
        ask("PUT", "/" + INDEX + "/_settings", "{\"index.default_pipeline\":\"" + PIPELINE + "\"}");
        try (TaskHarness harness = harness("max.retries", "2")) {
            harness.put(prices(harness));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 7L, "DroppedByPipeline", 5L, "DeadLettered", 1L), harness.fates());
            assertEquals(7, count());
        }
    }

    /** The items tell nothing of which document was dropped and which was failed, and do not stand in order. */
    @Test
    void documentsWithIdsOfTheClusterAreDroppedOrFailedAsTheyAre() throws Exception {
        pipeline(DROP_EACH_THIRD, FAIL_FIVE);
        try (TaskHarness harness = piped(
                "max.retries", "2",
                "use.autogenerated.ids", "true",
                "key.ignore", "true",
                "behavior.on.null.values", "ignore")) {
            harness.put(prices(harness));
            harness.putUntilCompleted();
            assertEquals(
                    Set.of("books-0@5: status 500 fail_processor_exception: unwanted: " + LogSafety.DOCUMENT),
                    harness.deadLetters);
            assertEquals(Map.of("Indexed", 7L, "DroppedByPipeline", 5L, "DeadLettered", 1L), harness.fates());
            assertEquals(7, count());
        }
    }

    /** The cluster answers 500, as for its own faults: the neighbours show that it is the document's. */
    @Test
    void whatAPipelineFailsIsADeadLetterAlone() throws Exception {
        pipeline(FAIL_FIVE);
        for (String ignored : new String[] {"false", "true"}) {
            makeIndex();
            try (TaskHarness harness =
                    piped("max.retries", "2", "key.ignore", ignored, "behavior.on.null.values", "ignore")) {
                harness.put(prices(harness));
                harness.putUntilCompleted();
                assertEquals(Map.of("Indexed", 12L, "DeadLettered", 1L), harness.fates());
                assertEquals(12, count());
                assertEquals(RECORDS, harness.committable());
                assertEquals(
                        Set.of("books-0@5: status 500 fail_processor_exception: unwanted: " + LogSafety.DOCUMENT),
                        harness.deadLetters);
            }
        }
    }

    @Test
    void whatAScriptThrowsOnIsADeadLetterAlone() throws Exception {
        pipeline("{\"script\":{\"source\":\"if (ctx.price == 5) { throw new IllegalArgumentException(ctx.m) }"
                + " ctx.price *= 2; ctx.remove('@timestamp')\"}}");
        try (TaskHarness harness = piped("max.retries", "2")) {
            harness.put(prices(harness));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 12L, "DeadLettered", 1L), harness.fates());
            assertEquals(12, count());
            String letter = harness.deadLetters.iterator().next();
            assertTrue(letter.startsWith("books-0@5: status 400 "), letter);
            String stored = ask("GET", "/" + INDEX + "/_source/k4", null);
            assertTrue(stored.contains("\"price\":8") && !stored.contains("@timestamp"), stored);
        }
    }

    /** Nothing tells whether all documents are bad or the pipeline is: the task ends, and loses none. */
    @Test
    void aPipelineThatFailsEveryDocumentFailsTheTask() throws Exception {
        pipeline("{\"fail\":{\"message\":\"unwanted: {{m}}\"}}");
        try (TaskHarness harness = piped("max.retries", "2")) {
            ConnectException failure = harness.putUntilFailed(prices(harness));
            assertEquals(
                    "bulk request to sluice-it: status 500 fail_processor_exception: reason withheld (attempt 3, first"
                            + " record concerned books-0@0)",
                    failure.getMessage());
            assertEquals(0, harness.committed());
            assertEquals(Set.of(), harness.deadLetters);
        }
    }

    /** With the pipeline named in the settings, an answer about another id or index than was sent is none of another. */
    @Test
    void aNamedPipelineMayChangeIdIndexAndRouting() throws Exception {
        pipeline(set("_id", "renamed", 2), set("_index", OTHER, 3), set("_routing", "there", 4));
        try (TaskHarness harness = piped()) {
            harness.put(prices(harness));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 13L), harness.fates());
            assertEquals(12, count());
            assertEquals(1, countIn(OTHER));
            String renamed = ask("GET", "/" + INDEX + "/_source/renamed", null);
            assertTrue(renamed.contains("\"price\":2"), renamed);
            String routed = ask("GET", "/" + INDEX + "/_doc/k4?routing=there", null);
            assertTrue(routed.contains("\"_routing\":\"there\""), routed);
        }
    }

    /** What is there under an id that a pipeline chose is another document: the one that was sent is not stored. */
    @Test
    void aConflictWithAForeignIdIsADeadLetter() throws Exception {
        pipeline(set("_id", "same", 2), set("_id", "same", 4));
        for (String usage : new String[] {"key.ignore", "use.autogenerated.ids"}) {
            makeIndex();
            try (TaskHarness harness =
                    piped("key.ignore", "true", usage, "true", "behavior.on.null.values", "ignore")) {
                harness.put(prices(harness));
                harness.putUntilCompleted();
                assertEquals(
                        usage.equals("key.ignore")
                                ? Map.of("Indexed", 12L, "DeadLettered", 1L)
                                : Map.of("Indexed", 12L, "Updated", 1L),
                        harness.fates());
                assertEquals(12, count());
            }
        }
    }

    /** One that the settings do not name makes answers look like those to another request; the failure names the remedy. */
    @Test
    void aDefaultPipelineThatRenamesMustBeNamed() throws Exception {
        pipeline(set("_id", "renamed", 2));
        ask("PUT", "/" + INDEX + "/_settings", "{\"index.default_pipeline\":\"" + PIPELINE + "\"}");
        try (TaskHarness harness = harness("max.retries", "2")) {
            ConnectException failure = harness.putUntilFailed(prices(harness));
            assertTrue(
                    failure.getMessage()
                            .contains("has another _id than was sent (if a pipeline changes it, name that"
                                    + " in pipeline)"),
                    failure.getMessage());
            assertEquals(0, harness.committed());
            assertEquals(RECORDS, count());
        }
    }

    /** An index whose pipeline does not exist keeps its own records waiting, and gets them once it does. */
    @Test
    void aMissingPipelineStopsItsOwnIndexOnly() throws Exception {
        TopicPartition films = new TopicPartition("films", 0);
        ask("PUT", "/" + OTHER, "{\"settings\":{\"number_of_replicas\":0}}");
        ask("PUT", "/" + INDEX + "/_settings", "{\"index.default_pipeline\":\"" + PIPELINE + "\"}");
        Map<String, String> settings = Map.of(
                "external.resource.usage",
                "INDEX",
                "topic.to.external.resource.mapping",
                "books:" + INDEX + ",films:" + OTHER);
        try (TaskHarness harness = new TaskHarness(List.of(TaskHarness.PARTITION, films), URL, settings)) {
            List<SinkRecord> records = new ArrayList<>(prices(harness));
            for (int i = 0; i < 7; i++) {
                records.add(harness.record(films, "f" + i, "{}"));
            }
            harness.put(records);
            harness.putUntilInFlight(RECORDS);
            harness.await(() -> harness.text("ParkedTargets").equals(INDEX));
            assertEquals(Map.of("Indexed", 7L), harness.fates());
            assertEquals(7, harness.committable(films));
            assertEquals(0, harness.committable());
            pipeline(DROP_EACH_THIRD);
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 15L, "DroppedByPipeline", 5L), harness.fates());
            assertEquals("", harness.text("ParkedTargets"));
            assertEquals(8, count());
            assertEquals(RECORDS, harness.committable());
        }
    }
}
