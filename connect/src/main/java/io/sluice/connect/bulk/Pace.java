package io.sluice.connect.bulk;

/** Spreads what is sent evenly, at no more than so many documents and bytes per second; 0 is no limit. */
final class Pace {
    private static final double NANOS_PER_SECOND = 1e9;
    /** Timers call late; what each of them loses would add up. */
    private static final long MOST_LATE_NANOS = 50_000_000;

    private final long documentsPerSecond;
    private final long bytesPerSecond;
    private long freeAtNanos = Long.MIN_VALUE;

    Pace(long documentsPerSecond, long bytesPerSecond) {
        this.documentsPerSecond = documentsPerSecond;
        this.bytesPerSecond = bytesPerSecond;
    }

    /**
     * Takes a request's place in time if that has come; returns the nanoseconds until it comes, 0 if it was taken.
     *
     * <p>A place that was taken earlier would stay empty where the request is revoked before it comes.
     */
    synchronized long take(int documents, long bytes, long nowNanos) {
        if (documentsPerSecond == 0 && bytesPerSecond == 0) {
            return 0;
        }
        boolean isFirst = freeAtNanos == Long.MIN_VALUE;
        if (!isFirst && freeAtNanos > nowNanos) {
            return freeAtNanos - nowNanos;
        }
        double seconds = Math.max(
                documentsPerSecond == 0 ? 0 : (double) documents / documentsPerSecond,
                bytesPerSecond == 0 ? 0 : (double) bytes / bytesPerSecond);
        long startNanos = isFirst ? nowNanos : Math.max(freeAtNanos, nowNanos - MOST_LATE_NANOS);
        freeAtNanos = startNanos + (long) (seconds * NANOS_PER_SECOND);
        return 0;
    }
}
