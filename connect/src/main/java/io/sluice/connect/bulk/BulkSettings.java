package io.sluice.connect.bulk;

/**
 * How bulk requests are formed and repeated.
 *
 * @param adaptive whether size and number of requests find their own level below the most given here
 * @param inOrder whether two operations on one id must never be under way at once
 * @param maxDocumentsPerSecond 0 for no limit, as for the bytes
 */
public record BulkSettings(
        int batchSize,
        long bulkSizeBytes,
        long lingerMs,
        int maxInFlight,
        boolean adaptive,
        int maxRetries,
        long retryTimeoutMs,
        boolean inOrder,
        long maxDocumentsPerSecond,
        long maxBytesPerSecond) {
    Limiter limiter() {
        Limits most = new Limits(maxInFlight, batchSize, bulkSizeBytes);
        return adaptive ? new AdaptiveLimits(most) : Limiter.fixed(most);
    }
}
