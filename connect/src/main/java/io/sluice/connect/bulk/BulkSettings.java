package io.sluice.connect.bulk;

/**
 * How bulk requests are formed and repeated.
 *
 * @param inOrder whether two operations on one id must never be in flight at once
 * @param mayCreate whether Elasticsearch may create an index that is missing
 * @param maxDocumentsPerSecond 0 for no limit, as for the bytes
 */
public record BulkSettings(
        int batchSize,
        long bulkSizeBytes,
        long lingerMs,
        int maxInFlight,
        int maxRetries,
        long retryTimeoutMs,
        boolean inOrder,
        boolean mayCreate,
        long maxDocumentsPerSecond,
        long maxBytesPerSecond) {}
