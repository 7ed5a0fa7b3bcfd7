package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.offset.PartitionOffsets;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of operations whose partition is lost, and of those beside them. */
class BulkWriterLostPartitionsTest extends WriterWorld {
    /** What is waiting in any place when its partition is lost is revoked, and nothing of it is sent any more. */
    @Test
    void whatALostPartitionLeftWaitingIsRevoked() {
        encoder = encoder("upsert");
        BulkWriter writer = writer(2, 1 << 20, 2, true);
        for (String key : new String[] {"a", "b", "c", "d", "a", "e", "f", "g"}) {
            add(writer, operation(key));
        }
        client.refuse(0, 503);
        losePartition(writer, 0);
        assertEquals(List.of(0L, 1L, 4L, 5L, 6L, 7L), sorted(book.revoked));
        client.answer(1, item -> item == 0 ? 200 : 429);
        timers.advance(60_000);
        assertEquals(List.of(0L, 1L, 3L, 4L, 5L, 6L, 7L), sorted(book.revoked));
        assertEquals(Set.of(2L), book.completed.keySet());
        assertEquals(2, client.sent.size());
        assertNull(book.failure);
    }

    /** A partition that stays is served on, in order, when another one of its requests' is lost. */
    @Test
    void aPartitionThatStaysIsServedOn() {
        encoder = encoder("upsert");
        BulkWriter writer = writer(2, 1 << 20, 1, true);
        add(writer, operation("a"));
        PartitionOffsets lost = partition;
        partition = opened(1);
        add(writer, operation("b"));
        add(writer, operation("a"));
        partition = lost;
        add(writer, operation("a"));
        client.refuse(0, 503);
        losePartition(writer, 0);
        timers.advance(200);
        assertEquals(List.of("1"), client.offsets(1));
        assertEquals(List.of(0L, 3L), sorted(book.revoked));
        client.succeed(1);
        timers.advance(5);
        assertEquals(List.of("2"), client.offsets(2));
        client.succeed(2);
        assertEquals(Set.of(1L, 2L), book.completed.keySet());
    }

    /** A waiting delete whose partition is lost is revoked; one of a partition that stays still has its turn. */
    @Test
    void waitingDeletesAreRevokedOrSent() {
        BulkWriter writer = writer(1, 1 << 20, 5, false);
        add(writer, operation("a"));
        add(writer, operation("a", null));
        PartitionOffsets lost = partition;
        partition = opened(1);
        add(writer, operation("b"));
        add(writer, operation("b", null));
        partition = lost;
        losePartition(writer, 0);
        assertEquals(List.of(1L), book.revoked);
        client.succeed(0);
        client.succeed(1);
        assertEquals(List.of("3"), client.offsets(2));
        assertEquals(3, client.sent.size());
    }

    private static List<Long> sorted(List<Long> numbers) {
        return numbers.stream().sorted().collect(Collectors.toList());
    }

    /** Of what was split off a request only what is of a partition that stays is sent. */
    @Test
    void halvesOfALostPartitionAreNotSent() {
        for (boolean isMixed : new boolean[] {true, false}) {
            int first = client.sent.size();
            partition = opened(0);
            BulkWriter writer = writer(4, 1 << 20, 1, false);
            add(writer, 3);
            partition = isMixed ? opened(1) : partition;
            add(writer, 1);
            client.refuse(first, 413);
            book.revoked.clear();
            losePartition(writer, 0);
            assertEquals(isMixed ? 1 : 2, book.revoked.size());
            client.succeed(first + 1);
            assertEquals(isMixed ? 3 : 2, client.sent.size() - first);
        }
        assertEquals(List.of("3"), client.offsets(2));
        assertNull(book.failure);
    }

    /** Of what waits for an index only what is of a lost partition goes, in operations and in bytes. */
    @Test
    void whatWaitsBesideALostPartitionStays() {
        BulkWriter writer = writer(100, 4 * operation("k0").bodyBytes(), 1, false);
        add(writer, 2);
        partition = opened(1);
        add(writer, 1);
        losePartition(writer, 0);
        assertEquals(List.of(1L, 2L), book.revoked);
        add(writer, 2);
        assertEquals(List.of(), sizesSent());
        timers.advance(5);
        assertEquals(List.of("3", "4", "5"), client.offsets(0));
    }

    /** Only while operations of a lost partition are on the wire is there something to wait for. */
    @Test
    void onlyTheWireHoldsALostPartition() {
        BulkWriter writer = writer(1, 1 << 20, 5, false);
        add(writer, 4);
        assertFalse(writer.hasRevokedOnTheWire());
        client.refuse(0, 503);
        losePartition(writer, 0);
        assertTrue(writer.hasRevokedOnTheWire());
        client.succeed(1);
        client.refuse(2, 503);
        assertTrue(writer.hasRevokedOnTheWire());
        client.refuse(3, 405);
        assertFalse(writer.hasRevokedOnTheWire());
        assertEquals(List.of(0L, 2L), book.revoked);
    }

    /** What is refused after its partition was lost makes way for who waits on the same document. */
    @ParameterizedTest
    @ValueSource(ints = {413, 503})
    void whatIsRefusedOfALostPartitionMakesWay(int status) {
        encoder = encoder("upsert");
        BulkWriter writer = writer(2, 1 << 20, 5, true);
        add(writer, operation("a"));
        PartitionOffsets lost = partition;
        partition = opened(1);
        add(writer, operation("b"));
        add(writer, operation("a"));
        losePartition(writer, 0);
        client.refuse(0, status);
        timers.advance(100);
        client.succeed(1);
        client.succeed(2);
        assertEquals(Set.of(1L, 2L), book.completed.keySet());
        assertEquals(List.of(0L), book.revoked);
        assertTrue(lost.committable() == 0);
    }

    /** A half that waits for its place in the pace is revoked with its partition. */
    @Test
    void aHalfThatKeepsToThePaceIsRevoked() {
        documentsPerSecond = 100;
        BulkWriter writer = writer(4, 1 << 20, 1, false);
        add(writer, 4);
        client.refuse(0, 413);
        losePartition(writer, 0);
        timers.advance(1_009);
        assertEquals(1, client.sent.size());
        assertEquals(List.of(0L, 1L, 2L, 3L), sorted(book.revoked));
    }

    /** Four requests of 1 s each wait for their places when their partition is lost; the next partition waits for none. */
    @Test
    void whatIsRevokedLeavesNoGapInThePace() {
        documentsPerSecond = 2;
        BulkWriter writer = writer(2, 1 << 20, 5, false);
        add(writer, 10);
        losePartition(writer, 0);
        partition = opened(1);
        add(writer, 6);
        timers.advance(1_010);
        assertEquals(List.of("10", "11"), client.offsets(1));
        timers.advance(1_010);
        assertEquals(3, client.sent.size());
    }
}
