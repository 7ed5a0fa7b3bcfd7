package io.sluice.connect.bulk;

import io.sluice.connect.metrics.SinkMetrics;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Knows which requests are failing and says so, now and then, without anything of a document. */
final class Failures {
    private static final Logger LOG = LoggerFactory.getLogger(Failures.class);
    private static final long WARNING_INTERVAL_NANOS = 10_000_000_000L;
    private static final long PARKED_WARNING_INTERVAL_NANOS = 300_000_000_000L;

    private final SinkMetrics metrics;
    private final Set<Bulk> failing = new HashSet<>();
    private long warnedAtNanos;
    private long failuresSinceWarning;
    private final Map<String, Long> saidOfParked = new HashMap<>();
    private long saidOfUnstoredAtNanos;
    private long redirectedSinceWarning;
    private long droppedSinceWarning;

    Failures(SinkMetrics metrics) {
        this.metrics = metrics;
    }

    /** A request, or some of its items, failed and may go again. */
    synchronized void add(Bulk bulk, String what) {
        failing.add(bulk);
        metrics.failed(what);
    }

    /** All operations of a request are completed; the last error is over when that holds for all that had failed. */
    synchronized void over(Bulk bulk) {
        if (failing.remove(bulk) && failing.isEmpty()) {
            metrics.recovered();
        }
    }

    /** One line for the first failure, then one for all of some seconds; types only, reasons may quote documents. */
    synchronized void warnNowAndThen(Bulk bulk, String what, long delayMs, long nowNanos) {
        failuresSinceWarning++;
        if (warnedAtNanos != 0 && nowNanos - warnedAtNanos < WARNING_INTERVAL_NANOS) {
            return;
        }
        warnedAtNanos = nowNanos;
        LOG.warn(
                "bulk request to {}: {}; {} operations go again in {} ms ({} such failures since the last warning)",
                bulk.index(),
                what,
                bulk.size(),
                delayMs,
                failuresSinceWarning);
        failuresSinceWarning = 0;
    }

    /** A target cannot be served; said at once, then every few minutes. */
    synchronized void parked(String target, String why, long nowNanos) {
        metrics.parked(target);
        Long said = saidOfParked.get(target);
        if (said == null || nowNanos - said >= PARKED_WARNING_INTERVAL_NANOS) {
            saidOfParked.put(target, nowNanos);
            LOG.warn("{}: cannot be served, its records wait, those of other targets go on: {}", target, why);
        }
    }

    /** Nothing is left for a target that could not be served. */
    synchronized void forgotten(String target) {
        metrics.served(target);
        saidOfParked.remove(target);
    }

    synchronized void served(String target, long afterNanos) {
        forgotten(target);
        LOG.info("{}: served again after {} ms", target, TimeUnit.NANOSECONDS.toMillis(afterNanos));
    }

    /** Documents that the cluster accepted and did not store where they were sent; said now and then. */
    synchronized void warnOfUnstored(String target, int redirected, int droppedByPipeline, long nowNanos) {
        redirectedSinceWarning += redirected;
        droppedSinceWarning += droppedByPipeline;
        boolean isSilent = saidOfUnstoredAtNanos != 0 && nowNanos - saidOfUnstoredAtNanos < WARNING_INTERVAL_NANOS;
        if (redirectedSinceWarning + droppedSinceWarning == 0 || isSilent) {
            return;
        }
        saidOfUnstoredAtNanos = nowNanos;
        LOG.warn(
                "{} documents went to the failure store and an ingest pipeline dropped {} since the last warning, the last"
                        + " for {}",
                redirectedSinceWarning,
                droppedSinceWarning,
                target);
        redirectedSinceWarning = 0;
        droppedSinceWarning = 0;
    }

    /** Never to be passed over: something between here and the cluster mixes answers up. */
    static void shoutOf(Bulk bulk, MismatchedAnswerException mismatch) {
        LOG.error("bulk request to {}: {} from {}; sent again", bulk.index(), mismatch.getMessage(), bulk.host());
    }

    /** What failed, without any reason: status and type, or that no answer came, and the host. */
    static String describe(Bulk bulk, int status, ItemError error, Exception cause) {
        String what = cause == null
                ? "status " + status + (error == null ? "" : " " + error.type())
                : "no answer: " + cause.getClass().getSimpleName();
        return bulk.host().isEmpty() ? what : what + " from " + bulk.host();
    }

    /** The same for whom it ends the work, with the reason and the first record concerned. */
    static String describe(Bulk bulk, int status, ItemError error, int item, Throwable cause) {
        String what = cause != null
                ? "no answer: " + cause.getClass().getSimpleName() + ": " + cause.getMessage()
                : "status " + status + (error == null ? "" : " " + error.type() + ": " + error.reason());
        return "bulk request to " + bulk.index() + ": " + what + " (attempt " + Math.max(1, bulk.attempts())
                + ", first record concerned "
                + bulk.operations().get(item).delivery().origin() + ")";
    }

    /** The error without its reason: that of an item may quote the document, and this one may be logged. */
    static ItemError withheld(ItemError error) {
        return error == null ? null : new ItemError(error.type(), "reason withheld");
    }
}
