package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Records that are not indexed: of a lost partition, refused, or no document at all. */
class UnindexedRecordsIT extends MisbehavingServer {
    /** A partition that was paused when it was lost, and is paused again when it comes back, is read on. */
    @Test
    void aPartitionThatComesBackPausedIsReadOn() throws Exception {
        misbehaviour = (request, exchange, ids) -> answer(exchange, 503, "");
        try (TaskHarness harness = harness("flush.timeout.ms", "101", "max.buffered.records", "7")) {
            harness.put(records(harness, 11));
            assertEquals(Set.of(TaskHarness.PARTITION), harness.paused());
            harness.revoke();
            harness.putUntilDecided();
            harness.assignAgain();
            misbehaviour = (request, exchange, ids) -> false;
            harness.put(List.of(harness.record("later", "{}")));
            harness.putUntilDecided();
            assertEquals(12, accepted.size());
            assertEquals(12, harness.committable());
        }
    }

    /** When a partition is lost while the server is busy, nothing of it is sent after the flush timeout. */
    @Test
    void nothingOfALostPartitionIsSentAfterTheFlushTimeout() throws Exception {
        misbehaviour = (request, exchange, ids) -> answer(exchange, 503, "");
        try (TaskHarness harness = harness("flush.timeout.ms", "101", "write.method", "upsert")) {
            harness.put(records(harness, 997));
            harness.lose();
            // What is on the wire already cannot be taken back, and a busy machine hands it to the server late.
            harness.awaitAnswers();
            misbehaviour = (request, exchange, ids) -> false;
            harness.putUntilDecided();
            assertEquals(Set.of(), accepted);
            assertEquals(997, harness.attribute("RecordsGivenBack"));
            assertEquals(
                    "{\"books-0\":{\"read\":0,\"indexed\":0,\"updated\":0,\"deleted\":0,\"already_there\":0,\"stale\":0,"
                            + "\"dead_lettered\":0,\"dropped\":0,\"in_flight\":0}}",
                    harness.text("LedgerByPartition"));
            assertEquals(0, harness.attribute("RecordsRead"));
        }
    }

    /** A dead-letter queue that blocks holds up neither the answers nor the neighbours. */
    @Test
    void aBlockedDeadLetterQueueHoldsUpNothing() throws Exception {
        misbehaviour = (request, exchange, ids) -> {
            answerItems(exchange, ids, id -> id.equals("k7") ? 400 : 201);
            return true;
        };
        CountDownLatch mayReport = new CountDownLatch(1);
        try (TaskHarness harness = harness()) {
            harness.beforeReport = () -> await(mayReport);
            harness.put(records(harness, 499));
            harness.putUntilInFlight(1);
            assertEquals(Map.of("Indexed", 498L), harness.fates());
            assertEquals(7, harness.committable());
            mayReport.countDown();
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 498L, "DeadLettered", 1L), harness.fates());
            assertTrue(harness.reportedBy.endsWith("-dead-letters"), harness.reportedBy);
        }
    }

    /** Records that are no document are dropped and counted when the configuration says so; neighbours are indexed. */
    @Test
    void invalidMessagesAreDropped() throws Exception {
        try (TaskHarness harness = harness("drop.invalid.message", "true", "pipeline", "enrich")) {
            harness.put(List.of(harness.record("a", "{"), harness.record(null, "{}"), harness.record("b", "{}")));
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 1L, "Dropped", 2L), harness.fates());
            assertEquals(List.of(), harness.deadLetters);
            assertTrue(queries.get(0).contains("pipeline=enrich"), queries.get(0));
        }
    }
}
