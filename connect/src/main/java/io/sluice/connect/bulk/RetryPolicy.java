package io.sluice.connect.bulk;

import io.sluice.connect.config.RetrySettings;
import io.sluice.connect.encode.Operation;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.util.concurrent.TimeUnit;
import org.apache.hc.client5.http.ConnectTimeoutException;

/**
 * What is done about each failure: a function of the outcome, of how often and how long the request or operation has
 * failed, and of what got through meanwhile.
 */
final class RetryPolicy {
    private static final int TOO_LARGE = 413;
    private static final int FORBIDDEN = 403;
    private static final int SERVER_ERROR = 500;
    private static final int BAD_GATEWAY = 502;
    private static final int UNAVAILABLE = 503;

    /** So many failures in a row of one request say that it may not fit, whatever the server says. */
    private static final int FAILURES_BEFORE_HALVING = 3;

    /** A server that starts anew says 502 or 503 for as long as that. */
    private static final long LONGEST_RESTART_NANOS = TimeUnit.SECONDS.toNanos(60);

    /** Without any evidence from other requests, the oldest is tried in halves only then. */
    private static final long TRIAL_AFTER_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** A document that is alone has failed for so long before it is suspected: a busy cluster refuses good ones, too. */
    private static final long SUSPECTED_AFTER_NANOS = TimeUnit.SECONDS.toNanos(60);

    /** A target whose items fail for so long no longer takes the place of others. */
    private static final long PARKED_AFTER_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final RetrySettings settings;
    private final boolean mayCreate;
    private final Progress progress;

    /** @param mayCreate whether the cluster may create a target that does not exist */
    RetryPolicy(RetrySettings settings, boolean mayCreate, Progress progress) {
        this.settings = settings;
        this.mayCreate = mayCreate;
        this.progress = progress;
    }

    /** The step for one item of an answer; notes the fate of one that is complete. */
    Step ofItem(Operation operation, BulkAnswer answer, int item, long nowNanos) {
        if (answer.isDoubtful(item, operation)) {
            operation.noteFailure(nowNanos);
            return Step.REPEAT;
        }
        int status = answer.status(item);
        Outcome outcome = answer.outcome(item, operation, mayCreate);
        if (outcome instanceof Outcome.Completed end) {
            operation.delivery().setFate(end.fate());
            return Step.COMPLETE;
        }
        if (outcome instanceof Outcome.AgainCounted) {
            return ofCounted(operation, nowNanos);
        }
        if (outcome instanceof Outcome.Unserved) {
            return Step.PARK;
        }
        return outcome instanceof Outcome.Again ? Step.REPEAT : Step.REJECT;
    }

    private Step ofCounted(Operation operation, long nowNanos) {
        if (operation.countAttempt(nowNanos) <= settings.maxRetries()) {
            return Step.REPEAT;
        }
        return progress.isStoredSince(operation.index(), operation.failedAtNanos()) ? Step.SUSPECT : Step.PARK;
    }

    /** The step for items that are to be repeated: a target that fails for long makes way for others. */
    Step ofRepeated(Bulk bulk, long nowNanos) {
        long failingForNanos = bulk.failingForNanos(nowNanos);
        if (isOver(failingForNanos)) {
            return Step.FAIL;
        }
        return failingForNanos >= PARKED_AFTER_NANOS ? Step.PARK : Step.REPEAT;
    }

    /** Whether nothing was stored for so long that a target which cannot be served ends the task. */
    boolean isParkedTooLong(long parkedAtNanos, long nowNanos) {
        return isOver(nowNanos - progress.lastStoredAtNanos(parkedAtNanos));
    }

    private boolean isOver(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(nanos) >= settings.retryTimeoutMs();
    }

    /**
     * The step for a request that was refused as a whole.
     *
     * @param isOldest whether it is the oldest in flight: if nothing gets through, it alone is tried in halves
     */
    Step ofRefused(Bulk bulk, int status, ItemError error, boolean isOldest, long nowNanos) {
        bulk.refused(nowNanos);
        Outcome outcome = Outcome.ofRequest(status, error, progress.isAnyAccepted());
        if (outcome instanceof Outcome.InHalves) {
            return ofContent(bulk, status, error);
        }
        if (outcome instanceof Outcome.AgainCounted) {
            return ofCounted(bulk, status);
        }
        if (outcome instanceof Outcome.Again) {
            boolean mayRestart = status == BAD_GATEWAY || status == UNAVAILABLE;
            return ofMisfit(bulk, isOldest, mayRestart, nowNanos);
        }
        return outcome instanceof Outcome.Unserved ? Step.PARK : Step.FAIL;
    }

    /** A document that is alone is at fault if the error says so, or if others get through meanwhile. */
    private Step ofContent(Bulk bulk, int status, ItemError error) {
        if (bulk.size() > 1) {
            return Step.HALVE;
        }
        boolean isAtFault = status == TOO_LARGE || Outcome.isAboutContent(error) || doOthersGetThrough(bulk);
        return isAtFault ? Step.REJECT : ofCounted(bulk, status);
    }

    private Step ofCounted(Bulk bulk, int status) {
        if (bulk.countAttempt() <= settings.maxRetries()) {
            return Step.REPEAT;
        }
        if (status == FORBIDDEN) {
            return Step.PARK;
        }
        if (status < SERVER_ERROR) {
            return Step.FAIL;
        }
        return bulk.size() > 1 ? Step.HALVE : doOthersGetThrough(bulk) ? ofAlone(bulk) : Step.FAIL;
    }

    /** The step for a request without an answer that can be used. */
    Step ofUnanswered(Bulk bulk, Exception cause, boolean isOldest, long nowNanos) {
        bulk.refused(nowNanos);
        if (cause instanceof MismatchedAnswerException) {
            return bulk.countAttempt() <= settings.maxRetries() ? Step.REPEAT : Step.FAIL;
        }
        return isUnconnected(cause) ? ofTime(bulk, nowNanos) : ofMisfit(bulk, isOldest, false, nowNanos);
    }

    private static boolean isUnconnected(Exception cause) {
        return cause instanceof ConnectException
                || cause instanceof ConnectTimeoutException
                || cause instanceof UnknownHostException
                || cause instanceof NoRouteToHostException;
    }

    private Step ofTime(Bulk bulk, long nowNanos) {
        return isOver(bulk.failingForNanos(nowNanos)) ? Step.FAIL : Step.REPEAT;
    }

    /**
     * A server need not say that a request is too large for it: it answers 429 or 503 each time, or closes the connection.
     * Halves tell. If nothing gets through, only one request is halved, since the cluster may just be down.
     */
    private Step ofMisfit(Bulk bulk, boolean isOldest, boolean mayRestart, long nowNanos) {
        long failingForNanos = bulk.failingForNanos(nowNanos);
        if (isOver(failingForNanos)) {
            return doOthersGoOn(bulk, nowNanos) ? Step.PARK : Step.FAIL;
        }
        boolean isTrial = isOldest && failingForNanos >= (mayRestart ? LONGEST_RESTART_NANOS : TRIAL_AFTER_NANOS);
        if (bulk.countFailure() < FAILURES_BEFORE_HALVING || !doOthersGetThrough(bulk) && !isTrial) {
            return Step.REPEAT;
        }
        if (bulk.size() > 1) {
            return Step.HALVE;
        }
        boolean isLong = failingForNanos >= SUSPECTED_AFTER_NANOS || isOver(2 * failingForNanos);
        boolean isSuspect = isLong && doOthersGetThrough(bulk) && bulk.failures() > settings.maxRetries();
        return isSuspect ? ofAlone(bulk) : Step.REPEAT;
    }

    /** A document that fails alone while others get through: if these are for other targets, its target may be at fault. */
    private Step ofAlone(Bulk bulk) {
        return progress.isStoredSince(bulk.index(), bulk.refusedAtNanos()) ? Step.SUSPECT : Step.PARK;
    }

    /** Whether what is for other targets is stored all the while, so that this one is at fault rather than the cluster. */
    private boolean doOthersGoOn(Bulk bulk, long nowNanos) {
        long sinceStoredNanos = nowNanos - progress.lastStoredAtNanos(bulk.refusedAtNanos());
        return doOthersGetThrough(bulk) && sinceStoredNanos < SUSPECTED_AFTER_NANOS;
    }

    private boolean doOthersGetThrough(Bulk bulk) {
        return progress.isAnyAcceptedSince(bulk.refusedAtNanos());
    }
}
