package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.encode.Operation;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Which operations wait for others on the same document, and that each is completed once. */
class BulkWriterOrderTest extends WriterWorld {
    /** Where versions cannot keep order, an operation waits until the earlier ones on its id are completed. */
    @Test
    void operationsOnOneIdAreNeverInFlightTogether() {
        encoder = encoder("upsert");
        BulkWriter writer = writer(2, 1 << 20, 5, true);
        for (String key : new String[] {"a", "b", "a", "c", "a", "d"}) {
            add(writer, operation(key));
        }
        assertTheThirdWaitsForTheFirst();
    }

    /** The first is refused and repeated before the third goes; those on other documents wait for neither. */
    private void assertTheThirdWaitsForTheFirst() {
        assertEquals(List.of("0", "1"), client.offsets(0));
        assertEquals(List.of("3", "5"), client.offsets(1));
        client.answer(0, item -> item == 0 ? 429 : 200);
        timers.advance(100);
        assertEquals(List.of("0"), client.offsets(2));
        client.succeed(2);
        timers.advance(5);
        assertEquals(List.of("2"), client.offsets(3));
    }

    /** A delete waits until what came before it on its document is completed: repeated later, that could undo it. */
    @Test
    void aDeleteWaitsForTheEarlierOperationsOnItsDocument() {
        BulkWriter writer = writer(2, 1 << 20, 5, false);
        add(writer, operation("a"));
        add(writer, operation("a"));
        add(writer, operation("a", null));
        add(writer, operation("b"));
        add(writer, operation("b", null));
        add(writer, operation("c"));
        assertTheThirdWaitsForTheFirst();
        assertEquals(4, client.sent.size());
    }

    /** What follows a waiting delete goes with it, up to the next delete. */
    @Test
    void whatFollowsAWaitingDeleteGoesWithIt() {
        BulkWriter writer = writer(4, 1 << 20, 5, false);
        for (String value : new String[] {"{}", null, "{}", "{}", null, "{}"}) {
            add(writer, operation("a", value));
        }
        timers.advance(5);
        assertEquals(List.of("0"), client.offsets(0));
        client.succeed(0);
        timers.advance(5);
        assertEquals(List.of("1", "2", "3"), client.offsets(1));
        client.succeed(1);
        timers.advance(5);
        assertEquals(List.of("4", "5"), client.offsets(2));
    }

    /**
     * Over random failures each record is completed once, no delete is sent before what it follows is completed, and never
     * more than N requests are in flight.
     */
    @Test
    void randomFailuresDecideEachRecordOnce() {
        for (int seed = 0; seed < 31; seed++) {
            Random random = new Random(seed);
            WriterWorld world = new WriterWorld();
            boolean inOrder = seed % 2 == 0;
            world.encoder = encoder(inOrder ? "upsert" : "insert");
            world.client.onSend = bulk -> refuseOvertakingDeletes(world, bulk);
            BulkWriter writer = world.writer(7, 1 << 20, 3, inOrder);
            Map<Integer, Integer> lastByKey = new TreeMap<>();
            for (int i = 0; i < 997; i++) {
                int key = random.nextInt(53);
                lastByKey.put(key, i);
                add(writer, world.operation("k" + key, random.nextInt(3) == 0 ? null : "{}"));
                world.client.answerRandomly(random);
                world.timers.advance(random.nextInt(3));
                assertTrue(world.client.sent.size() - world.client.answered <= 3);
            }
            writer.flush();
            while (world.book.completed.size() < 997) {
                world.client.answerRandomly(random);
                world.timers.advance(100);
                assertNull(world.book.failure);
            }
            assertEquals(997, world.partition.committable());
            if (inOrder) {
                world.book.assertOrderPerKey(lastByKey);
            }
        }
    }

    private static void refuseOvertakingDeletes(WriterWorld world, Bulk bulk) {
        for (Operation operation : bulk.operations()) {
            if (operation.kind() == Operation.Kind.DELETE) {
                Set<Long> before = new HashSet<>(world.addedBefore(operation));
                before.removeAll(world.book.completed.keySet());
                assertEquals(Set.of(), before, "sent before the operations that it follows");
            }
        }
    }
}
