package io.sluice.connect.config;

import static org.apache.kafka.common.config.ConfigDef.Importance.LOW;
import static org.apache.kafka.common.config.ConfigDef.Importance.MEDIUM;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Type;

/** How bulk requests are formed, how many are under way, and how fast. */
public final class RequestSettings {
    private static final String BATCH_SIZE = "batch.size";
    private static final String BULK_ADAPTIVE = "bulk.adaptive";
    private static final boolean BULK_ADAPTIVE_DEFAULT = false;
    private static final String BULK_SIZE_BYTES = "bulk.size.bytes";
    private static final String LINGER_MS = "linger.ms";
    private static final String MAX_IN_FLIGHT_REQUESTS = "max.in.flight.requests";
    private static final String MAX_DOCUMENTS_PER_SECOND = "max.documents.per.second";
    private static final String MAX_BYTES_PER_SECOND = "max.bytes.per.second";

    private static final long NO_LIMIT = -1;

    /** The defaults are what a fixed level should be; as bounds of a search they would let it only go down. */
    private static final Map<String, String> ROOM_TO_ADAPT = Map.of(
            BATCH_SIZE,
            "10000",
            BULK_SIZE_BYTES,
            Long.toString(20L << 20),
            MAX_IN_FLIGHT_REQUESTS,
            "20",
            BufferSettings.MAX_BUFFERED_RECORDS,
            "60000");

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
                        "Most operations in one bulk request.")
                .define(
                        BULK_SIZE_BYTES,
                        Type.LONG,
                        5L << 20,
                        Accepts.atLeastOr(1, NO_LIMIT),
                        MEDIUM,
                        "Most bytes in one bulk request; a larger document goes alone; -1 for no limit.")
                .define(
                        BULK_ADAPTIVE,
                        Type.BOOLEAN,
                        BULK_ADAPTIVE_DEFAULT,
                        MEDIUM,
                        "Let requests under way and their size find their own level up to the most given, by default 20 requests"
                                + " of 10000 operations or 20 MiB, 60000 records buffered.")
                .define(
                        LINGER_MS,
                        Type.LONG,
                        1L,
                        Accepts.atLeast(0),
                        LOW,
                        "How long a bulk request waits for more records while requests may be sent, in milliseconds.")
                .define(
                        MAX_IN_FLIGHT_REQUESTS,
                        Type.INT,
                        5,
                        Accepts.between(1, 1_000),
                        MEDIUM,
                        "Bulk requests under way at once, those waiting for their next attempt included.")
                .define(
                        MAX_DOCUMENTS_PER_SECOND,
                        Type.LONG,
                        0L,
                        Accepts.atLeast(0),
                        LOW,
                        "Documents that a task sends per second at most; 0 for no limit.")
                .define(
                        MAX_BYTES_PER_SECOND,
                        Type.LONG,
                        0L,
                        Accepts.atLeast(0),
                        LOW,
                        "Bytes of request bodies that a task sends per second at most; 0 for no limit.");
    }

    /** The settings, with higher bounds where requests find their own level and none are given. */
    static Map<String, String> withRoomToAdapt(Map<String, String> settings) {
        String adaptive = settings.get(BULK_ADAPTIVE);
        if (adaptive == null || !Boolean.parseBoolean(adaptive.trim())) {
            return settings;
        }
        Map<String, String> roomy = new HashMap<>(ROOM_TO_ADAPT);
        roomy.putAll(settings);
        return roomy;
    }

    public int batchSize() {
        return values.getInt(BATCH_SIZE);
    }

    public long bulkSizeBytes() {
        long bytes = values.getLong(BULK_SIZE_BYTES);
        return bytes == NO_LIMIT ? Long.MAX_VALUE : bytes;
    }

    public boolean adaptive() {
        return values.getBoolean(BULK_ADAPTIVE);
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
