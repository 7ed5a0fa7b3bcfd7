package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.offset.Offsets;
import io.sluice.connect.offset.Origin;
import io.sluice.connect.time.ManualTimers;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTaskContext;
import org.junit.jupiter.api.Test;

/** What the worker is asked to do with the partitions, and how long its next poll may take. */
class PressureTest {
    private static final TopicPartition BOOKS = new TopicPartition("books", 0);

    private final ManualTimers timers = new ManualTimers();
    private final SinkMetrics metrics = new SinkMetrics();
    private final Backlog backlog = new Backlog(2, 1 << 20, timers);
    private final List<Long> polls = new ArrayList<>();
    private final SinkTaskContext context = (SinkTaskContext) Proxy.newProxyInstance(
            getClass().getClassLoader(), new Class<?>[] {SinkTaskContext.class}, (proxy, method, arguments) -> {
                if (method.getName().equals("timeout")) {
                    polls.add((Long) arguments[0]);
                }
                return method.getName().equals("assignment") ? Set.of(BOOKS) : null;
            });
    private final Pressure pressure = new Pressure(context, backlog, Set::of, () -> true, timers, metrics);

    private static Delivery delivery() {
        Offsets offsets = new Offsets(new SinkMetrics());
        offsets.open(List.of(BOOKS));
        SinkRecord record = new SinkRecord("books", 0, null, null, null, null, 0);
        return new Delivery(record, offsets.of("books", 0), Origin.of(record), 1, -1);
    }

    /** A poll of an idle topic lasts until the next commit: with records in flight, what became of them is told sooner. */
    @Test
    void pollsAreShortWhileRecordsAreInFlight() {
        pressure.relieve();
        assertEquals(List.of(), polls);
        List<Delivery> deliveries = List.of(delivery());
        backlog.enter(deliveries);
        pressure.relieve();
        assertEquals(List.of(1_000L), polls);
        backlog.leave(deliveries);
        pressure.relieve();
        assertEquals(List.of(1_000L), polls);
    }

    /** A full backlog pauses the partitions, and looks again in a moment. */
    @Test
    void aFullBacklogPausesThePartitions() {
        backlog.enter(List.of(delivery(), delivery()));
        pressure.relieve();
        assertEquals(List.of(20L), polls);
    }
}
