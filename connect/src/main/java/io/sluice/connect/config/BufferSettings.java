package io.sluice.connect.config;

import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;

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
        SettingsGroup settings = new SettingsGroup(definition, "Buffers");
        settings.number(MAX_BUFFERED_RECORDS, "Buffered records", 20_000)
                .accepts(Accepts.atLeast(1))
                .means("Records without a final result at which the task stops reading. It waits up to 1 s, then "
                        + "pauses its partitions.");
        settings.number(MAX_BUFFERED_BYTES, "Buffered bytes", 64L << 20)
                .accepts(Accepts.atLeast(1))
                .means("Bytes of such records (keys, values, action lines) at which the task stops reading.");
        settings.number(FLUSH_TIMEOUT_MS, "Flush timeout (ms)", 180_000L)
                .accepts(Accepts.atLeast(0))
                .means("Longest wait for results when offsets are committed and when partitions are revoked, in "
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
