package io.sluice.connect;

import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.time.Timers;
import java.util.HashSet;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkTaskContext;

/** Keeps the backlog bounded: waits a little for room, then pauses reading, never long enough to lose the group. */
final class Pressure {
    private static final long LONGEST_WAIT_MS = 1_000;
    private static final long PAUSED_POLL_MS = 20;

    /** Without new records a poll takes as long as the next commit is away: so late a failure would be told. */
    private static final long IN_FLIGHT_POLL_MS = 1_000;

    private final SinkTaskContext context;
    private final Backlog backlog;
    private final BooleanSupplier failed;
    private final Timers timers;
    private final SinkMetrics metrics;
    private final Supplier<Set<TopicPartition>> parkedPartitions;
    /** Whether partitions may be paused that need not be. */
    private boolean paused;

    /** @param parkedPartitions those of records whose targets cannot be served */
    Pressure(
            SinkTaskContext context,
            Backlog backlog,
            Supplier<Set<TopicPartition>> parkedPartitions,
            BooleanSupplier failed,
            Timers timers,
            SinkMetrics metrics) {
        this.context = context;
        this.backlog = backlog;
        this.parkedPartitions = parkedPartitions;
        this.failed = failed;
        this.timers = timers;
        this.metrics = metrics;
    }

    /**
     * Notes that partitions were assigned: the worker pauses again those that were paused before the rebalance, even if
     * they were resumed meanwhile, when they were not ours.
     */
    void assigned() {
        paused = true;
    }

    void relieve() {
        if (backlog.isFull()) {
            long before = timers.nanoTime();
            backlog.awaitWhile(() -> backlog.isFull() && !failed.getAsBoolean(), LONGEST_WAIT_MS);
            metrics.blocked(timers.nanoTime() - before);
        }
        if (backlog.isFull()) {
            pause(context.assignment());
        } else if (backlog.isFullOfParked()) {
            Set<TopicPartition> parked = new HashSet<>(parkedPartitions.get());
            parked.retainAll(context.assignment());
            resumeExcept(parked);
            pause(parked);
        } else if (paused) {
            resumeExcept(Set.of());
            paused = false;
        }
        if (!paused && !backlog.isEmpty()) {
            context.timeout(IN_FLIGHT_POLL_MS);
        }
    }

    private void pause(Set<TopicPartition> partitions) {
        context.pause(partitions.toArray(new TopicPartition[0]));
        context.timeout(PAUSED_POLL_MS);
        paused = true;
    }

    private void resumeExcept(Set<TopicPartition> partitions) {
        Set<TopicPartition> resumed = new HashSet<>(context.assignment());
        resumed.removeAll(partitions);
        context.resume(resumed.toArray(new TopicPartition[0]));
    }
}
