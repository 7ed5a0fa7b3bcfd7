package io.sluice.connect;

import java.util.concurrent.TimeUnit;

/**
 * How many records a task may hold so that a stop can wait for all of them: as many as get through in a second and a half,
 * by the rate of late. Where what is sent twice is stored twice, more would be doubled by a stop on a busy machine.
 */
final class HeldTime {
    private static final double LONGEST_S = 1.5;
    private static final long WINDOW_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /** Enough to find out how fast it goes. */
    private static final long FEWEST_RECORDS = 500;

    private long windowBegunNanos;
    private long completedInWindow;
    private long records = FEWEST_RECORDS;

    HeldTime(long nowNanos) {
        windowBegunNanos = nowNanos;
    }

    /** Notes that so many records got through. */
    void completed(int more, long nowNanos) {
        completedInWindow += more;
        long elapsedNanos = nowNanos - windowBegunNanos;
        if (elapsedNanos >= WINDOW_NANOS) {
            double perSecond = completedInWindow * (double) TimeUnit.SECONDS.toNanos(1) / elapsedNanos;
            records = Math.max(FEWEST_RECORDS, (long) (perSecond * LONGEST_S));
            windowBegunNanos = nowNanos;
            completedInWindow = 0;
        }
    }

    /** The most records to hold. */
    long records() {
        return records;
    }
}
