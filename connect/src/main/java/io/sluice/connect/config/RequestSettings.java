package io.sluice.connect.config;

import static org.apache.kafka.common.config.ConfigDef.Importance.LOW;
import static org.apache.kafka.common.config.ConfigDef.Importance.MEDIUM;

import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Type;

/** How bulk requests are formed, how many are in flight, and how fast. */
public final class RequestSettings {
    private static final String BATCH_SIZE = "batch.size";
    private static final String BULK_SIZE_BYTES = "bulk.size.bytes";
    private static final String LINGER_MS = "linger.ms";
    private static final String MAX_IN_FLIGHT_REQUESTS = "max.in.flight.requests";
    private static final String MAX_DOCUMENTS_PER_SECOND = "max.documents.per.second";
    private static final String MAX_BYTES_PER_SECOND = "max.bytes.per.second";

    private static final long NO_LIMIT = -1;

    private final AbstractConfig values;

    RequestSettings(AbstractConfig values) {
        this.values = values;
    }

    static void define(ConfigDef definition) {
        definition
                .define(
                        BATCH_SIZE,
                        Type.INT,
                        2_000,
                        Accepts.between(1, 1_000_000),
                        MEDIUM,
                        "Most operations in one bulk request. Requests are filled across polls.")
                .define(
                        BULK_SIZE_BYTES,
                        Type.LONG,
                        5L << 20,
                        Accepts.atLeastOr(1, NO_LIMIT),
                        MEDIUM,
                        "Most bytes in the body of one bulk request, -1 for no limit. A larger document is sent "
                                + "alone.")
                .define(
                        LINGER_MS,
                        Type.LONG,
                        1L,
                        Accepts.atLeast(0),
                        LOW,
                        "How long a request that is not full waits for more records, in milliseconds. Under load "
                                + "requests fill up anyway, because each index has at most one in flight that is not full.")
                .define(
                        MAX_IN_FLIGHT_REQUESTS,
                        Type.INT,
                        5,
                        Accepts.between(1, 1_000),
                        MEDIUM,
                        "Most bulk requests in flight per task, including those that wait for a retry. All "
                                + "indices share them, the one with the oldest record first.")
                .define(
                        MAX_DOCUMENTS_PER_SECOND,
                        Type.LONG,
                        0L,
                        Accepts.atLeast(0),
                        LOW,
                        "Most documents that a task sends per second, including retries, evenly spread. 0: no "
                                + "limit.")
                .define(
                        MAX_BYTES_PER_SECOND,
                        Type.LONG,
                        0L,
                        Accepts.atLeast(0),
                        LOW,
                        "The same in bytes of request bodies. 0: no limit.");
    }

    public int batchSize() {
        return values.getInt(BATCH_SIZE);
    }

    public long bulkSizeBytes() {
        long bytes = values.getLong(BULK_SIZE_BYTES);
        return bytes == NO_LIMIT ? Long.MAX_VALUE : bytes;
    }

    public long lingerMs() {
        return values.getLong(LINGER_MS);
    }

    public int maxInFlightRequests() {
        return values.getInt(MAX_IN_FLIGHT_REQUESTS);
    }

    public long maxDocumentsPerSecond() {
        return values.getLong(MAX_DOCUMENTS_PER_SECOND);
    }

    public long maxBytesPerSecond() {
        return values.getLong(MAX_BYTES_PER_SECOND);
    }
}
