package io.sluice.connect.config;

import static org.apache.kafka.common.config.ConfigDef.Importance.LOW;

import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Type;

/** How much a task may hold, and how long it waits to let go of it. */
public final class BufferSettings {
    private static final String MAX_BUFFERED_RECORDS = "max.buffered.records";
    private static final String MAX_BUFFERED_BYTES = "max.buffered.bytes";
    private static final String FLUSH_TIMEOUT_MS = "flush.timeout.ms";

    private final AbstractConfig values;

    BufferSettings(AbstractConfig values) {
        this.values = values;
    }

    static void define(ConfigDef definition) {
        definition
                .define(
                        MAX_BUFFERED_RECORDS,
                        Type.INT,
                        20_000,
                        Accepts.atLeast(1),
                        LOW,
                        "Records without a final result at which the task stops reading. It waits up to 1 s, then "
                                + "pauses its partitions.")
                .define(
                        MAX_BUFFERED_BYTES,
                        Type.LONG,
                        64L << 20,
                        Accepts.atLeast(1),
                        LOW,
                        "Bytes of such records (keys, values, action lines) at which the task stops reading.")
                .define(
                        FLUSH_TIMEOUT_MS,
                        Type.LONG,
                        180_000L,
                        Accepts.atLeast(0),
                        LOW,
                        "Longest wait for results when offsets are committed and when partitions are revoked, in "
                                + "milliseconds; never more than 4 s for both together, because a worker stops waiting after "
                                + "5 s. 0: no wait.");
    }

    public int maxBufferedRecords() {
        return values.getInt(MAX_BUFFERED_RECORDS);
    }

    public long maxBufferedBytes() {
        return values.getLong(MAX_BUFFERED_BYTES);
    }

    public long flushTimeoutMs() {
        return values.getLong(FLUSH_TIMEOUT_MS);
    }
}
