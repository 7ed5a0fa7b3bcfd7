package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.encode.RecordEncoder;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What else happens to a target while it cannot be served. */
class BulkWriterParkingTest extends WriterWorld {
    private static final String GONE = "404 index_not_found_exception";
    private final RecordEncoder sick = encoder("insert", "sick");
    private final RecordEncoder well = encoder("insert", "well");

    private BulkWriter severalTargets(int batchSize) {
        BulkWriter writer = writer(batchSize, 1 << 20, 5, false);
        writer.setSeveralTargets(true);
        return writer;
    }

    private Operation operation(RecordEncoder target, String key, String value) {
        encoder = target;
        return operation(key, value);
    }

    /** A delete waits for the operations on its document, not for those on a document of the same id elsewhere. */
    @Test
    void aDeleteDoesNotWaitForAParkedTarget() {
        BulkWriter writer = severalTargets(1);
        add(writer, operation(sick, "a", "{}"));
        client.answer(0, GONE);
        add(writer, operation(well, "a", null));
        client.succeed(1);
        assertEquals(Set.of(1L), book.completed.keySet());
    }

    /** A slot that parked operations and a delete share keeps no delete waiting, either. */
    @Test
    void deletesWaitForNoneOfManyParkedOperations() {
        BulkWriter writer = severalTargets(1_000);
        for (int i = 0; i < 20_000; i++) {
            add(writer, operation(sick, "sick" + i, "{}"));
        }
        while (client.sent.size() > client.answered) {
            client.refuse(client.answered, 404, "index_not_found_exception");
        }
        for (int i = 0; i < 1_000; i++) {
            add(writer, operation(well, "well" + i, null));
        }
        timers.advance(5);
        long sent = client.sent.stream()
                .filter(bulk -> bulk.index().equals("well"))
                .mapToLong(Bulk::size)
                .sum();
        assertEquals(1_000, sent);
    }

    /** Two requests that were not full are answered after one of them showed that the target is served. */
    @Test
    void aProbeMayBeAnsweredAfterTheTargetIsServedAgain() {
        BulkWriter writer = severalTargets(2);
        add(writer, operation(sick, "a", "{}"));
        timers.advance(5);
        add(writer, operation(sick, "b", "{}"));
        add(writer, operation(sick, "c", "{}"));
        client.answer(1, "201", GONE);
        add(writer, operation(well, "d", "{}"));
        timers.advance(200);
        List<String> targets = client.sent.stream().map(Bulk::index).toList();
        assertEquals(List.of("sick", "sick", "well", "sick"), targets);
        client.succeed(0);
        client.succeed(3);
        assertNull(book.failure);
        assertEquals(Set.of(0L, 1L, 2L), book.completed.keySet());
    }

    /** No name stays when the partition goes whose records waited. */
    @Test
    void aRevokedTargetIsNoLongerParked() {
        BulkWriter writer = severalTargets(1);
        add(writer, operation(sick, "a", "{}"));
        client.answer(0, GONE);
        assertEquals("sick", attribute("ParkedTargets"));
        losePartition(writer, 0);
        assertEquals("", attribute("ParkedTargets"));
        assertEquals(Set.of(), book.parked);
    }

    /** Likewise when the partition goes while a request is in flight that is to find out. */
    @Test
    void aTargetThatIsRevokedWhileItIsProbedIsNoLongerParked() {
        BulkWriter writer = severalTargets(1);
        add(writer, operation(sick, "a", "{}"));
        client.answer(0, GONE);
        timers.advance(200);
        losePartition(writer, 0);
        client.answer(1, GONE);
        assertEquals("", attribute("ParkedTargets"));
        assertEquals(Set.of(), book.parked);
    }

    /** Where there is no index there is nothing to delete: an answer that says so does not say that the index is there. */
    @Test
    void aDeleteThatNeedsNoIndexDoesNotServeATarget() {
        BulkWriter writer = severalTargets(1_000);
        for (int round = 0; round < 20; round++) {
            add(writer, operation(sick, "a" + round, "{}"));
            add(writer, operation(sick, "b" + round, null));
            timers.advance(1_001);
            while (client.sent.size() > client.answered) {
                String[] items = client.offsets(client.answered).stream()
                        .map(offset -> GONE)
                        .toArray(String[]::new);
                client.answer(client.answered, items);
            }
            assertEquals(Set.of("sick"), book.parked);
        }
        assertEquals(1, book.parkings);
    }

    /** While it is not known whose a stored document is, its target is served all the same. */
    @Test
    void aConflictInDoubtParksNoTarget() {
        BulkWriter writer = severalTargets(1);
        add(writer, operation(sick, "a", "{}"));
        for (int second = 0; second < 30; second++) {
            while (client.sent.size() > client.answered) {
                client.doubt(client.answered);
            }
            timers.advance(1_000);
        }
        assertEquals(0, book.parkings);
        assertNull(book.failure);
    }

    /** A document that alone is forbidden, for a new field perhaps, does not stop its target for ever. */
    @Test
    void aDocumentThatAloneIsForbiddenStopsOnlyItself() {
        BulkWriter writer = severalTargets(2);
        add(writer, operation(sick, "a", "{}"));
        add(writer, operation(sick, "b", "{}"));
        for (int second = 0; second < 30 && book.completed.size() + book.suspected.size() < 32; second++) {
            add(writer, operation(sick, "c" + second, "{}"));
            answer();
            timers.advance(1_000);
        }
        assertEquals(List.of("0 403 security_exception"), book.suspected);
        assertEquals(Set.of(), book.parked);
    }

    private void answer() {
        while (client.sent.size() > client.answered) {
            int request = client.answered;
            String[] items = client.offsets(request).stream()
                    .map(offset -> offset.equals("0") ? "403 security_exception" : "201")
                    .toArray(String[]::new);
            client.answer(request, items);
        }
    }

    /** A document alone whose target never answers is not at fault while nothing else of its target gets through. */
    @Test
    void aDocumentOfATargetThatNeverAnswersIsNotSuspected() {
        BulkWriter writer = severalTargets(1);
        add(writer, operation(sick, "a", "{}"));
        for (int second = 0; second < 300; second++) {
            while (client.sent.size() > client.answered) {
                int request = client.answered;
                if (client.sent.get(request).index().equals("sick")) {
                    client.fail(request, new SocketTimeoutException("30,000 ms"));
                } else {
                    client.succeed(request);
                }
            }
            timers.advance(1_000);
            add(writer, operation(well, "w" + second, "{}"));
        }
        assertEquals(List.of(), book.suspected);
        assertNull(book.failure);
        assertTrue(book.parked.contains("sick"));
    }

    /** A request that is never answered, for a target whose primary shard is missing perhaps, ends no work of others. */
    @Test
    void aTargetThatNeverAnswersIsParkedAfterRetryTimeout() {
        BulkWriter writer = severalTargets(7);
        for (int i = 0; i < 7; i++) {
            add(writer, operation(sick, "a" + i, "{}"));
        }
        for (int second = 0; second < 150; second++) {
            add(writer, operation(well, "w" + second, "{}"));
            timers.advance(1_000);
            while (client.sent.size() > client.answered) {
                int request = client.answered;
                if (client.sent.get(request).index().equals("sick")) {
                    client.fail(request, new SocketTimeoutException("30,000 ms"));
                } else {
                    client.succeed(request);
                }
            }
        }
        assertNull(book.failure);
        assertEquals(List.of(), book.suspected);
        assertTrue(book.parked.contains("sick"));
    }
}
