package io.sluice.connect;

import io.sluice.connect.bulk.Timers;
import io.sluice.connect.metrics.SinkMetrics;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Notices that records are in flight and none is decided for too long; says so, with the last error, and when it is over. */
final class StallWatch {
    private static final Logger LOG = LoggerFactory.getLogger(StallWatch.class);
    private static final long LONGEST_PERIOD_MS = 10_000;
    private static final int LOOKS_PER_TIMEOUT = 4;

    private final String name;
    private final long timeoutMs;
    private final Timers timers;
    private final SinkMetrics metrics;
    private long decidedBefore;
    private long movedAtNanos;
    private long warnings;

    StallWatch(String name, long timeoutMs, Timers timers, SinkMetrics metrics) {
        this.name = name;
        this.timeoutMs = timeoutMs;
        this.timers = timers;
        this.metrics = metrics;
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
        long decided = metrics.recordsDecided();
        if (decided != decidedBefore || metrics.recordsInFlight() == 0) {
            if (warnings > 0) {
                LOG.info("{}: moves again after standing still for {} ms", name, standingForMs);
            }
            decidedBefore = decided;
            movedAtNanos = now;
            warnings = 0;
            metrics.stalledFor(0);
        } else if (standingForMs >= timeoutMs) {
            metrics.stalledFor(standingForMs);
            warn(standingForMs);
        }
    }

    private void warn(long standingForMs) {
        if (standingForMs < (warnings + 1) * timeoutMs) {
            return;
        }
        warnings++;
        String cause = metrics.lastError();
        LOG.warn(
                "{}: stalled: {} records in flight and none decided for {} ms; last error: {}",
                name,
                metrics.recordsInFlight(),
                standingForMs,
                cause.isEmpty() ? "none, the requests are unanswered" : cause);
    }
}
