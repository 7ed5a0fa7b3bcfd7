package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;

/** Records that Connect's worker reads and never hands to the task: the ledger closes with the offsets all the same. */
class UndeliveredRecordsIT extends MisbehavingServer {
    private static final String[] CONVERTER = {
        "value.converter", "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable", "false"
    };

    private static final String[] FILTER = {
        "transforms", "cut",
        "transforms.cut.type", "org.apache.kafka.connect.transforms.Filter",
        "transforms.cut.predicate", "marked",
        "predicates", "marked",
        "predicates.marked.type", "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
        "predicates.marked.name", "unwanted"
    };

    /** A record of which the converter makes nothing is skipped; without a queue no other count has it. */
    @Test
    void recordsThatAConverterFailsOnAreSkipped() throws Exception {
        try (TaskHarness harness = harness(with(
                CONVERTER, "errors.deadletterqueue.topic.name", "", "behavior.on.malformed.documents", "ignore"))) {
            putTheSecondUnreadable(harness);
            assertEquals(Map.of("Indexed", 2L), harness.fates());
            assertLedger(harness, 2, 1, 0);
        }
    }

    /** With a queue it is the worker's dead letter, and none of the task's. */
    @Test
    void skippedRecordsAreTheWorkersDeadLetters() throws Exception {
        try (TaskHarness harness = harness(CONVERTER)) {
            putTheSecondUnreadable(harness);
            assertEquals(Map.of("Indexed", 2L), harness.fates());
            assertEquals(1, harness.reports.get());
            assertLedger(harness, 2, 1, 0);
        }
    }

    /** What a transform removes is not skipped, and counted apart from it. */
    @Test
    void recordsThatATransformRemovesAreFiltered() throws Exception {
        try (TaskHarness harness = harness(with(CONVERTER, FILTER))) {
            SinkRecord unwanted = harness.record("d", "{}");
            unwanted.headers().addString("unwanted", "yes");
            harness.put(List.of(unwanted));
            putTheSecondUnreadable(harness);
            assertLedger(harness, 2, 1, 1);
        }
    }

    /** Documents that the sink itself refuses were handed to it. */
    @Test
    void recordsThatTheSinkRefusesAreNotSkipped() throws Exception {
        try (TaskHarness harness = harness()) {
            harness.put(List.of(harness.record("a", "{}"), harness.record("b", "{")));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 1L, "DeadLettered", 1L), harness.fates());
            assertLedger(harness, 2, 0, 0);
        }
    }

    /** The log of the stop names them, too: after it there is no MBean to ask. */
    @Test
    void theStopLogNamesThem() throws Exception {
        try (CapturedLog log = new CapturedLog()) {
            try (TaskHarness harness = harness(CONVERTER)) {
                putTheSecondUnreadable(harness);
            }
            assertEquals(
                    1,
                    log.linesWith("not handed over by the worker: 1 skipped, 0 filtered")
                            .size());
        }
    }

    private static void putTheSecondUnreadable(TaskHarness harness) {
        harness.put(List.of(harness.record("a", "{}"), harness.record("b", "{"), harness.record("c", "{}")));
        harness.putUntilCompleted();
    }

    /** What was read, skipped and filtered is what may be committed. */
    private static void assertLedger(TaskHarness harness, long read, long skipped, long filtered) {
        assertEquals(read, harness.attribute("RecordsRead"));
        assertEquals(skipped, harness.attribute("RecordsSkipped"));
        assertEquals(filtered, harness.attribute("RecordsFiltered"));
        assertEquals(read + skipped + filtered, harness.committable());
    }

    private static String[] with(String[] settings, String... more) {
        return java.util.stream.Stream.of(settings, more)
                .flatMap(java.util.stream.Stream::of)
                .toArray(String[]::new);
    }
}
