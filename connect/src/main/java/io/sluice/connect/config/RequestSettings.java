package io.sluice.connect.config;

import static org.apache.kafka.common.config.ConfigDef.Importance.MEDIUM;

import java.util.Locale;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;

/** How bulk requests are formed, how many are in flight, and how fast. */
public final class RequestSettings {
    private static final String BATCH_SIZE = "batch.size";
    private static final String BULK_SIZE_BYTES = "bulk.size.bytes";
    private static final String LINGER_MS = "linger.ms";
    private static final String MAX_IN_FLIGHT_REQUESTS = "max.in.flight.requests";
    private static final String BULK_BY_SHARD = "bulk.by.shard";
    private static final String MAX_DOCUMENTS_PER_SECOND = "max.documents.per.second";
    private static final String MAX_BYTES_PER_SECOND = "max.bytes.per.second";

    private static final long NO_LIMIT = -1;

    private final AbstractConfig values;

    RequestSettings(AbstractConfig values) {
        this.values = values;
    }

    static void define(ConfigDef definition) {
        SettingsGroup settings = new SettingsGroup(definition, "Requests");
        settings.number(BATCH_SIZE, "Operations per request", 2_000)
                .accepts(Accepts.between(1, 1_000_000))
                .importance(MEDIUM)
                .means("Most operations in one bulk request. Requests are filled across polls.");
        settings.number(BULK_SIZE_BYTES, "Bytes per request", 5L << 20)
                .accepts(Accepts.atLeastOr(1, NO_LIMIT))
                .importance(MEDIUM)
                .means("Most bytes in the body of one bulk request, -1 for no limit. A larger document is sent "
                        + "alone.");
        settings.number(LINGER_MS, "Linger (ms)", 1L)
                .accepts(Accepts.atLeast(0))
                .means("How long a request that is not full waits for more records, in milliseconds. Under load "
                        + "requests fill up anyway, because each index has at most one in flight that is not full.");
        settings.number(MAX_IN_FLIGHT_REQUESTS, "Requests in flight", 5)
                .accepts(Accepts.between(1, 1_000))
                .importance(MEDIUM)
                .means("Most bulk requests in flight per task, including those that wait for a retry. All "
                        + "indices share them, the one with the oldest record first.");
        settings.choice(BULK_BY_SHARD, "Requests by shard", BulkByShard.class, "auto")
                .means("auto: while more waits for an index than one request holds, each has documents of few shards, "
                        + "whose primaries are on one node, and goes to that node if connection.url names it. Needs the "
                        + "cluster privilege monitor. never: requests hold documents of all shards.");
        settings.number(MAX_DOCUMENTS_PER_SECOND, "Documents per second", 0L)
                .accepts(Accepts.atLeast(0))
                .means("Most documents that a task sends per second, including retries, evenly spread; a request holds "
                        + "no more than these. 0: no limit.");
        settings.number(MAX_BYTES_PER_SECOND, "Bytes per second", 0L)
                .accepts(Accepts.atLeast(0))
                .means("The same in bytes of request bodies. 0: no limit.");
    }

    /** Operations of a full request, no more than a second may have: requests would be seconds apart. */
    public int batchSize() {
        long most = maxDocumentsPerSecond();
        return most == 0 ? values.getInt(BATCH_SIZE) : (int) Math.min(values.getInt(BATCH_SIZE), most);
    }

    /** Bytes of a full request, no more than a second may have. */
    public long bulkSizeBytes() {
        long bytes = values.getLong(BULK_SIZE_BYTES);
        long most = maxBytesPerSecond();
        return Math.min(bytes == NO_LIMIT ? Long.MAX_VALUE : bytes, most == 0 ? Long.MAX_VALUE : most);
    }

    public long lingerMs() {
        return values.getLong(LINGER_MS);
    }

    public int maxInFlightRequests() {
        return values.getInt(MAX_IN_FLIGHT_REQUESTS);
    }

    /** Whether requests may be formed by shard. */
    public boolean areByShard() {
        return BulkByShard.valueOf(values.getString(BULK_BY_SHARD).toUpperCase(Locale.ROOT)) == BulkByShard.AUTO;
    }

    public long maxDocumentsPerSecond() {
        return values.getLong(MAX_DOCUMENTS_PER_SECOND);
    }

    public long maxBytesPerSecond() {
        return values.getLong(MAX_BYTES_PER_SECOND);
    }
}
