package io.sluice.connect.config;

import static org.apache.kafka.common.config.ConfigDef.Importance.MEDIUM;

import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;

/** What is tried again, how often and for how long, and when to say that nothing moves. */
public final class RetrySettings {
    private static final String MAX_RETRIES = "max.retries";
    private static final String RETRY_BACKOFF_MS = "retry.backoff.ms";
    private static final String RETRY_BACKOFF_MAX_MS = "retry.backoff.max.ms";
    private static final String RETRY_TIMEOUT_MS = "retry.timeout.ms";
    private static final String STALL_TIMEOUT_MS = "stall.timeout.ms";

    private final AbstractConfig values;

    RetrySettings(AbstractConfig values) {
        this.values = values;
    }

    static void define(ConfigDef definition) {
        SettingsGroup settings = new SettingsGroup(definition, "Retries");
        settings.number(MAX_RETRIES, "Retries", 5)
                .accepts(Accepts.atLeast(0))
                .importance(MEDIUM)
                .means("Retries of failures that waiting alone does not cure, such as 500 or 403. A cluster that "
                        + "is busy or down does not use them up.");
        settings.number(RETRY_BACKOFF_MS, "First backoff (ms)", 100L)
                .accepts(Accepts.atLeast(1))
                .means("Upper bound of the random wait before the first retry, in milliseconds. It doubles with "
                        + "each retry.");
        settings.number(RETRY_BACKOFF_MAX_MS, "Longest backoff (ms)", 30_000L)
                .accepts(Accepts.atLeast(1))
                .means("Longest wait before any retry, in milliseconds. At least retry.backoff.ms.");
        settings.number(RETRY_TIMEOUT_MS, "Retry timeout (ms)", 600_000L)
                .accepts(Accepts.atLeast(0))
                .importance(MEDIUM)
                .means("How long a bulk request is retried without progress, in milliseconds. Then the task "
                        + "fails.");
        settings.number(STALL_TIMEOUT_MS, "Stall timeout (ms)", 300_000L)
                .accepts(Accepts.atLeast(1))
                .means("Time without any final result after which a warning names the last error (status, type, "
                        + "host), in milliseconds; repeated after each such time.");
    }

    static void check(Findings findings) {
        if (findings.valueOf(RETRY_BACKOFF_MS) instanceof Long least
                && findings.valueOf(RETRY_BACKOFF_MAX_MS) instanceof Long most
                && least > most) {
            findings.refuse(
                    RETRY_BACKOFF_MAX_MS, "got " + most + ", expected at least " + RETRY_BACKOFF_MS + "=" + least);
        }
    }

    public int maxRetries() {
        return values.getInt(MAX_RETRIES);
    }

    public long retryBackoffMs() {
        return values.getLong(RETRY_BACKOFF_MS);
    }

    public long retryBackoffMaxMs() {
        return values.getLong(RETRY_BACKOFF_MAX_MS);
    }

    public long retryTimeoutMs() {
        return values.getLong(RETRY_TIMEOUT_MS);
    }

    public long stallTimeoutMs() {
        return values.getLong(STALL_TIMEOUT_MS);
    }
}
