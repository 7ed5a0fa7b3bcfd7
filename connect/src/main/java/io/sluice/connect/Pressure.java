package io.sluice.connect;

import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.time.Timers;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkTaskContext;

/** Keeps the backlog bounded: waits a little for room, then pauses reading, never long enough to lose the group. */
final class Pressure {
    private static final long LONGEST_WAIT_MS = 1_000;
    private static final long PAUSED_POLL_MS = 20;

    private final SinkTaskContext context;
    private final Backlog backlog;
    private final BooleanSupplier failed;
    private final Timers timers;
    private final SinkMetrics metrics;
    /** Whether partitions may be paused that need not be. */
    private boolean paused;

    Pressure(SinkTaskContext context, Backlog backlog, BooleanSupplier failed, Timers timers, SinkMetrics metrics) {
        this.context = context;
        this.backlog = backlog;
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
            context.pause(assignment());
            context.timeout(PAUSED_POLL_MS);
            paused = true;
        } else if (paused) {
            context.resume(assignment());
            paused = false;
        }
    }

    private TopicPartition[] assignment() {
        return context.assignment().toArray(new TopicPartition[0]);
    }
}
