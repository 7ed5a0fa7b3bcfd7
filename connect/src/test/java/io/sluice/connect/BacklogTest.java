package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.offset.Offsets;
import io.sluice.connect.offset.Origin;
import io.sluice.connect.time.ManualTimers;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;

/** What is held, and how much of it waits for targets that cannot be served. */
class BacklogTest {
    private static final List<String> TARGETS = List.of("a", "b", "c");
    private final Offsets offsets = new Offsets(new SinkMetrics());
    private final Backlog backlog = new Backlog(7, 1 << 20, new ManualTimers());
    private long nextOffset;

    BacklogTest() {
        offsets.open(List.of(new TopicPartition("t", 0)));
    }

    private Delivery delivery(String target) {
        SinkRecord record = new SinkRecord("t", 0, null, null, null, null, nextOffset);
        Delivery delivery = new Delivery(record, offsets.of("t", 0), new Origin("t", 0, nextOffset++), 0, -1);
        delivery.setTarget(target);
        delivery.hold(1);
        return delivery;
    }

    /** What comes for a parked target of which nothing was held takes no room of others. */
    @Test
    void aParkedTargetStaysParkedWhileNothingOfItIsHeld() {
        Delivery first = delivery("a");
        backlog.enter(List.of(first));
        backlog.park("a");
        backlog.leave(List.of(first));
        backlog.enter(List.of(delivery("a")));
        assertEquals(1, backlog.parkedRecords());
        backlog.restore("a");
        assertEquals(0, backlog.parkedRecords());
    }

    /** Whatever the order of events: parked is what is held for the targets that are parked. */
    @Test
    void parkedRecordsAreThoseOfParkedTargets() {
        for (int seed = 0; seed < 300; seed++) {
            List<Delivery> held = new ArrayList<>();
            Set<String> parked = new HashSet<>();
            Random random = new Random(seed);
            for (int step = 0; step < 100; step++) {
                String target = TARGETS.get(random.nextInt(TARGETS.size()));
                switch (random.nextInt(5)) {
                    case 0 -> {
                        backlog.park(target);
                        parked.add(target);
                    }
                    case 1 -> {
                        backlog.restore(target);
                        parked.remove(target);
                    }
                    case 2, 3 -> {
                        Delivery entering = delivery(target);
                        held.add(entering);
                        backlog.enter(List.of(entering));
                    }
                    default -> {
                        if (!held.isEmpty()) {
                            backlog.leave(List.of(held.remove(random.nextInt(held.size()))));
                        }
                    }
                }
                assertHeld(held, parked);
            }
            backlog.leave(held);
            TARGETS.forEach(backlog::restore);
        }
        assertEquals(0, backlog.parkedRecords());
        assertFalse(backlog.isFull());
    }

    private void assertHeld(List<Delivery> held, Set<String> parked) {
        long waiting = held.stream().filter(d -> parked.contains(d.target())).count();
        assertEquals(waiting, backlog.parkedRecords());
        assertEquals(held.size() - waiting >= 7, backlog.isFull());
        assertTrue(waiting < 7 || backlog.isFullOfParked());
    }
}
