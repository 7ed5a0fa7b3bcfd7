package io.sluice.connect.config;

/** Whether requests are formed by shard. */
public enum BulkByShard {
    AUTO,
    NEVER
}
