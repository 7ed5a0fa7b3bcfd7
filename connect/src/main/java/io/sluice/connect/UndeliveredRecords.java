package io.sluice.connect;

import java.util.Map;
import java.util.OptionalLong;

/**
 * The records that the worker read and did not hand to the task: skipped, because a converter or a transform failed and
 * errors.tolerance=all, or filtered, because a transform removed them. Gaps between offsets do not tell: markers of
 * transactions and compaction make them, too.
 */
final class UndeliveredRecords {
    private static final long UNKNOWN = -1;

    private final WorkerMetrics worker;
    private final boolean mayBeFiltered;
    private long delivered;
    private volatile long filtered;

    UndeliveredRecords(WorkerMetrics worker, Map<String, String> settings) {
        this.worker = worker;
        this.mayBeFiltered = !settings.getOrDefault("transforms", "").isBlank();
    }

    /** Called in each {@code put}: there, all that the worker has read was skipped, filtered or handed over. */
    void delivered(int records) {
        delivered += records;
        if (mayBeFiltered) {
            OptionalLong consumed = worker.recordsConsumed();
            OptionalLong skipped = worker.recordsSkipped();
            filtered = consumed.isPresent() && skipped.isPresent()
                    ? consumed.getAsLong() - skipped.getAsLong() - delivered
                    : UNKNOWN;
        }
    }

    /** Skipped since the task's start, or -1 where the worker does not tell. */
    long skipped() {
        return worker.recordsSkipped().orElse(UNKNOWN);
    }

    /** Filtered up to the last {@code put}, or -1 where the worker does not tell. */
    long filtered() {
        return filtered;
    }
}
