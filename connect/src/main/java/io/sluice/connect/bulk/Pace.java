package io.sluice.connect.bulk;

/** Spreads what is sent evenly, at no more than so many documents and bytes per second; 0 is no limit. */
final class Pace {
    private static final double NANOS_PER_SECOND = 1e9;

    private final long documentsPerSecond;
    private final long bytesPerSecond;
    private long freeAtNanos = Long.MIN_VALUE;

    Pace(long documentsPerSecond, long bytesPerSecond) {
        this.documentsPerSecond = documentsPerSecond;
        this.bytesPerSecond = bytesPerSecond;
    }

    /** Takes the next place in time for a request; returns the nanoseconds until then, 0 for now. */
    synchronized long reserve(int documents, long bytes, long nowNanos) {
        if (documentsPerSecond == 0 && bytesPerSecond == 0) {
            return 0;
        }
        double seconds = Math.max(
                documentsPerSecond == 0 ? 0 : (double) documents / documentsPerSecond,
                bytesPerSecond == 0 ? 0 : (double) bytes / bytesPerSecond);
        long startNanos = freeAtNanos == Long.MIN_VALUE ? nowNanos : Math.max(nowNanos, freeAtNanos);
        freeAtNanos = startNanos + (long) (seconds * NANOS_PER_SECOND);
        return startNanos - nowNanos;
    }
}
