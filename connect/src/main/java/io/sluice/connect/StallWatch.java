package io.sluice.connect;

import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.time.Timers;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Notices that records are in flight and none is completed for too long, or that records wait and none is read; says so,
 * with what is known of the cause, and when it is over.
 */
final class StallWatch {
    private static final Logger LOG = LoggerFactory.getLogger(StallWatch.class);
    private static final long LONGEST_PERIOD_MS = 10_000;
    private static final int LOOKS_PER_TIMEOUT = 4;

    private final String name;
    private final long timeoutMs;
    private final Timers timers;
    private final SinkMetrics metrics;
    private final Supplier<OptionalLong> lag;
    private long completedBefore;
    private long readBefore;
    private long movedAtNanos;
    private long warnings;

    /** @param lag records that wait to be read, as far as is known */
    StallWatch(String name, long timeoutMs, Timers timers, SinkMetrics metrics, Supplier<OptionalLong> lag) {
        this.name = name;
        this.timeoutMs = timeoutMs;
        this.timers = timers;
        this.metrics = metrics;
        this.lag = lag;
        this.movedAtNanos = timers.nanoTime();
    }

    void start() {
        long periodMs = Math.max(1, Math.min(LONGEST_PERIOD_MS, timeoutMs / LOOKS_PER_TIMEOUT));
        timers.after(periodMs, this::lookAndGoOn);
    }

    private void lookAndGoOn() {
        look();
        start();
    }

    private void look() {
        long now = timers.nanoTime();
        long standingForMs = TimeUnit.NANOSECONDS.toMillis(now - movedAtNanos);
        if (hasMoved() || metrics.recordsInFlight() == 0 && lag.get().orElse(0) == 0) {
            if (warnings > 0) {
                LOG.info("{}: resumed after {} ms without progress", name, standingForMs);
            }
            movedAtNanos = now;
            warnings = 0;
            metrics.stalledFor(0);
        } else if (standingForMs >= timeoutMs) {
            metrics.stalledFor(standingForMs);
            warn(standingForMs);
        }
    }

    private boolean hasMoved() {
        long completed = metrics.recordsCompleted();
        long read = metrics.recordsRead();
        boolean moved = completed != completedBefore || metrics.recordsInFlight() == 0 && read != readBefore;
        completedBefore = completed;
        readBefore = read;
        return moved;
    }

    private void warn(long standingForMs) {
        long inFlight = metrics.recordsInFlight();
        // A connector that somebody paused stands, too, and he knows: that is said once.
        if (standingForMs < (warnings + 1) * timeoutMs || inFlight == 0 && warnings > 0) {
            return;
        }
        warnings++;
        if (inFlight == 0) {
            LOG.warn(
                    "{}: stalled: some {} records wait and none is read for {} ms; the connector is paused, or the"
                            + " worker's consumer or this task's thread is blocked",
                    name,
                    lag.get().orElse(0),
                    standingForMs);
            return;
        }
        String cause = metrics.lastError();
        LOG.warn(
                "{}: stalled: {} records in flight and none completed for {} ms; last error: {}",
                name,
                inFlight,
                standingForMs,
                cause.isEmpty() ? "none, the requests are unanswered" : cause);
    }
}
