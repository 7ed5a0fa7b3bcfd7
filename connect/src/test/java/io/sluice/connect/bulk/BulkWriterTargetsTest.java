package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.encode.RecordEncoder;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

/** A target that cannot be served keeps its own records waiting, and no others. */
class BulkWriterTargetsTest extends WriterWorld {
    private static final String GONE = "404 index_not_found_exception";
    private final RecordEncoder sick = encoder("insert", "sick");
    private final RecordEncoder well = encoder("insert", "well");

    private BulkWriter severalTargets(int inFlight) {
        BulkWriter writer = writer(1, 1 << 20, inFlight, false);
        writer.setSeveralTargets(true);
        return writer;
    }

    private void add(BulkWriter writer, RecordEncoder target) {
        encoder = target;
        add(writer, 1);
    }

    /** Answers what was sent: items for the sick target with this, all others as stored. */
    private void answer(String ofSick) {
        while (client.sent.size() > client.answered) {
            int request = client.answered;
            client.answer(request, client.sent.get(request).index().equals("sick") ? ofSick : "201");
        }
    }

    /** The records of other targets go on, and those of the sick one are sent again once it is served. */
    @Test
    void whatIsForOthersGoesOn() {
        BulkWriter writer = severalTargets(2);
        for (int round = 0; round < 20; round++) {
            add(writer, sick);
            add(writer, well);
            answer(GONE);
            timers.advance(10);
        }
        assertEquals(
                20 / 2,
                book.completed.keySet().stream()
                        .filter(offset -> offset % 4 == 1)
                        .count());
        assertEquals(Set.of("sick"), book.parked);
        assertEquals("sick", attribute("ParkedTargets"));
        assertEquals(Set.of(new TopicPartition("t", 0)), writer.parkedPartitions());
        for (int second = 0; second < 100; second++) {
            timers.advance(1_000);
            answer("201");
        }
        assertEquals(40, book.completed.size());
        assertEquals(Set.of(), book.parked);
        assertEquals("", attribute("ParkedTargets"));
        assertNull(book.failure);
    }

    /** While it cannot be served one request at a time is sent for it, ever more rarely. */
    @Test
    void aSickTargetIsTriedNowAndThen() {
        BulkWriter writer = severalTargets(5);
        for (int i = 0; i < 7; i++) {
            add(writer, sick);
        }
        answer(GONE);
        int sentAtFirst = client.sent.size();
        for (int second = 0; second < 60; second++) {
            timers.advance(500);
            assertTrue(client.sent.size() - client.answered <= 1, "one at a time");
            answer(GONE);
            add(writer, well);
            answer(GONE);
        }
        long tries = client.sent.stream()
                .skip(sentAtFirst)
                .filter(bulk -> bulk.index().equals("sick"))
                .count();
        assertTrue(tries >= 25 && tries <= 40, tries + " tries in 30 s with waits of up to 1 s");
        assertNull(book.failure);
    }

    /** What fails for a time and may be over soon parks a target only after seconds, and only where others can go on. */
    @Test
    void aBlockedTargetIsParkedAfterSeconds() {
        BulkWriter writer = severalTargets(1);
        add(writer, sick);
        for (int second = 0; second < 4; second++) {
            answer("403 cluster_block_exception");
            timers.advance(1_000);
            assertEquals(Set.of(), book.parked);
        }
        for (int second = 0; second < 4; second++) {
            answer("403 cluster_block_exception");
            timers.advance(1_000);
        }
        assertEquals(Set.of("sick"), book.parked);
    }

    /** Requests that wait for another attempt leave a place for those to other targets. */
    @Test
    void waitingRequestsLeaveAPlaceForOthers() {
        BulkWriter writer = severalTargets(2);
        add(writer, sick);
        add(writer, sick);
        add(writer, sick);
        add(writer, well);
        client.answer(0, "503 unavailable_shards_exception");
        client.answer(1, "503 unavailable_shards_exception");
        assertEquals(
                List.of("sick", "sick", "well"),
                client.sent.stream().map(Bulk::index).toList());
        client.succeed(2);
        assertEquals(Set.of(3L), book.completed.keySet());
    }

    /** Where the task has no other target, one that cannot be served ends the work. */
    @Test
    void theOnlyTargetEndsTheWork() {
        BulkWriter writer = writer(1, 1 << 20, 2, false);
        add(writer, sick);
        answer(GONE);
        assertEquals(
                "bulk request to sick: status 404 index_not_found_exception: some reason (attempt 1, first record"
                        + " concerned t-0@0)",
                book.failure.getMessage());
    }

    /** A task in which nothing at all is stored for retry.timeout.ms does not look as if it worked. */
    @Test
    void aTaskThatStoresNothingFailsInTheEnd() {
        BulkWriter writer = severalTargets(2);
        add(writer, sick);
        while (book.failure == null) {
            answer(GONE);
            timers.advance(1_000);
        }
        assertEquals(60_000, timers.nowMs(), 2_000);
    }

    /** What is parked is revoked with its partition. */
    @Test
    void parkedRecordsAreRevoked() {
        BulkWriter writer = severalTargets(2);
        add(writer, sick);
        add(writer, well);
        answer(GONE);
        losePartition(writer, 0);
        assertEquals(List.of(0L), book.revoked);
        int sent = client.sent.size();
        timers.advance(60_000);
        assertEquals(sent, client.sent.size());
    }
}
