package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.time.Timers;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.connect.errors.ConnectException;

/**
 * Forms bulk requests, keeps up to N of them in flight, and repeats what failed and may succeed.
 *
 * <p>A bulk request has a permit from when it is sent until each of its operations is completed; it keeps it while it
 * waits for another attempt. A request that is not full is sent only when nothing else not full is in flight for its
 * index, so that under load the requests fill up whatever the linger time.
 *
 * <p>The task's thread, the client's and the timers' come here. What they change, they change {@link #underLock}; requests
 * are sent and results told without the lock.
 */
public final class BulkWriter implements BulkClient.Listener {
    private static final int TOO_LARGE = 413;

    private final BulkSettings settings;
    private final Pace pace;
    private final BulkClient client;
    private final Backoff backoff;
    private final Timers timers;
    private final Results results;
    private final SinkMetrics metrics;

    private final Lanes lanes;
    private final Set<Bulk> inFlight = new LinkedHashSet<>();
    private final Failures failures;
    private final HeldOperations held;
    /** Under the lock; empty before the first request is accepted. */
    private OptionalLong acceptedAtNanos = OptionalLong.empty();

    private boolean stopped;

    public BulkWriter(
            BulkSettings settings,
            BulkClient client,
            Backoff backoff,
            Timers timers,
            Results results,
            SinkMetrics metrics) {
        this.settings = settings;
        this.held = settings.inOrder() ? new HeldUpserts() : new HeldDeletes();
        this.pace = new Pace(settings.maxDocumentsPerSecond(), settings.maxBytesPerSecond());
        this.client = client;
        this.backoff = backoff;
        this.timers = timers;
        this.results = results;
        this.metrics = metrics;
        this.failures = new Failures(metrics);
        this.lanes = new Lanes(settings, timers, this::lingered);
    }

    /** Makes a change, then sends what may be sent because of it. */
    private void underLock(Runnable change) {
        List<Bulk> sendable = new ArrayList<>();
        synchronized (this) {
            change.run();
            Bulk next = nextSendable();
            while (next != null) {
                inFlight.add(next);
                sendable.add(next);
                next = nextSendable();
            }
        }
        sendable.forEach(this::send);
    }

    private Bulk nextSendable() {
        return stopped || inFlight.size() >= settings.maxInFlight() ? null : lanes.next();
    }

    /** Takes operations over; each is sent with others when a request is full or the linger time is over. */
    public void add(List<Operation> operations) {
        underLock(() -> {
            lanes.linger();
            for (Operation operation : operations) {
                if (!held.mustWait(operation)) {
                    lanes.add(operation);
                }
            }
        });
    }

    /** Sends what is there without waiting for more. */
    public void flush() {
        underLock(lanes::flush);
    }

    private void lingered() {
        underLock(lanes::disarm);
    }

    /**
     * Lets go of the operations whose partition was revoked, except for those on the wire, which are not sent again. So
     * whoever owns a partition next never meets a later attempt of ours.
     */
    public void revoke() {
        List<Operation> revoked = new ArrayList<>();
        underLock(() -> {
            revoked.addAll(held.takeRevoked());
            List<Operation> letThrough = lanes.takeRevoked();
            for (Bulk bulk : List.copyOf(inFlight)) {
                if (bulk.isWaiting()) {
                    letThrough.addAll(takeRevoked(bulk));
                }
            }
            release(letThrough);
            revoked.addAll(letThrough);
        });
        reportRevoked(revoked);
    }

    /** A request without operations is done; what is taken is still to be released. */
    private List<Operation> takeRevoked(Bulk bulk) {
        List<Operation> revoked = bulk.takeRevoked();
        if (bulk.size() == 0) {
            finish(bulk);
        }
        return revoked;
    }

    private void reportRevoked(List<Operation> revoked) {
        revoked.forEach(operation -> results.revoked(operation.delivery()));
    }

    /** Whether operations are on the wire whose partition was revoked. */
    public synchronized boolean hasRevokedOnTheWire() {
        return inFlight.stream().anyMatch(bulk -> bulk.isOnTheWire() && bulk.hasRevoked());
    }

    /** Ends all repetition; answers that still come complete their operations. */
    public synchronized void stop() {
        stopped = true;
    }

    /** Age of the operation that has waited longest, 0 when there is none. */
    public synchronized long oldestAgeMillis() {
        long now = timers.nanoTime();
        long oldest = Math.min(now, lanes.oldestReadAtNanos());
        for (Bulk bulk : inFlight) {
            oldest = Math.min(oldest, bulk.oldestReadAtNanos());
        }
        return TimeUnit.NANOSECONDS.toMillis(now - oldest);
    }

    private void send(Bulk bulk) {
        long waitNanos = pace.reserve(bulk.size(), bulk.bodyBytes(), timers.nanoTime());
        if (waitNanos == 0) {
            sendNow(bulk);
        } else {
            timers.after(1 + TimeUnit.NANOSECONDS.toMillis(waitNanos), () -> sendNow(bulk));
        }
    }

    private void sendNow(Bulk bulk) {
        synchronized (this) {
            if (stopped || bulk.isDone()) {
                return;
            }
            bulk.sent(timers.nanoTime());
        }
        metrics.bulkSent(bulk.attempts() > 1);
        client.send(bulk, this);
    }

    /** A bug must not reach the client's I/O thread, which would end and leave all requests unanswered. */
    private void guarded(Bulk bulk, Runnable reaction) {
        synchronized (this) {
            bulk.answered();
        }
        try {
            reaction.run();
        } catch (RuntimeException | Error bug) {
            fail(bulk, 0, null, 0, bug);
        }
    }

    @Override
    public void answered(Bulk bulk, BulkAnswer answer) {
        guarded(bulk, () -> {
            metrics.bulkAnswered(bulk.size(), bulk.bodyBytes(), timers.nanoTime() - bulk.sentAtNanos());
            complete(bulk, answer);
        });
    }

    private void complete(Bulk bulk, BulkAnswer answer) {
        List<Operation> completed = new ArrayList<>(bulk.size());
        List<Delivery> through = new ArrayList<>(bulk.size());
        List<Operation> again = new ArrayList<>(0);
        int firstAgain = -1;
        for (int i = 0; i < bulk.size(); i++) {
            Operation operation = bulk.operations().get(i);
            ItemError error = answer.error(i);
            Outcome outcome =
                    Outcome.ofItem(operation, answer.status(i), answer.result(i), error, settings.mayCreate());
            if (isTriedAgain(operation, outcome)) {
                firstAgain = firstAgain < 0 ? i : firstAgain;
                again.add(operation);
            } else if (outcome instanceof Outcome.Completed end) {
                operation.delivery().setFate(end.fate());
                through.add(operation.delivery());
                completed.add(operation);
            } else if (outcome instanceof Outcome.Rejected) {
                reject(operation, answer.status(i), error == null ? ItemError.UNKNOWN : error);
                completed.add(operation);
            } else {
                results.completed(through);
                fail(bulk, i, answer);
                return;
            }
        }
        results.completed(through);
        accepted();
        if (again.isEmpty()) {
            finishAndRelease(bulk, completed);
        } else {
            repeatItems(bulk, completed, again, answer.status(firstAgain), answer.error(firstAgain));
        }
    }

    private synchronized void accepted() {
        acceptedAtNanos = OptionalLong.of(timers.nanoTime());
    }

    private synchronized boolean isAuthorised() {
        return acceptedAtNanos.isPresent();
    }

    /** Whether another request got through since this one, or the one it is a part of, was refused. */
    private synchronized boolean doOthersGetThrough(Bulk bulk) {
        return acceptedAtNanos.isPresent() && acceptedAtNanos.getAsLong() - bulk.refusedAtNanos() >= 0;
    }

    private boolean isTriedAgain(Operation operation, Outcome outcome) {
        return outcome instanceof Outcome.Again
                || outcome instanceof Outcome.AgainCounted && operation.countAttempt() <= settings.maxRetries();
    }

    private void reject(Operation operation, int status, ItemError error) {
        metrics.itemRejected();
        results.rejected(operation.delivery(), status, error);
    }

    private void fail(Bulk bulk, int item, BulkAnswer answer) {
        int status = answer.status(item);
        ItemError error = answer.error(item);
        boolean isAboutDocument = !Outcome.isIndexTrouble(error) && !Outcome.isAboutAccess(error);
        fail(bulk, status, isAboutDocument ? Failures.withheld(error) : error, item, null);
    }

    private void finishAndRelease(Bulk bulk, List<Operation> completed) {
        underLock(() -> {
            finish(bulk);
            release(completed);
        });
    }

    private void finish(Bulk bulk) {
        bulk.done();
        inFlight.remove(bulk);
        failures.over(bulk);
        partialAnswered(bulk);
    }

    private void repeatItems(Bulk bulk, List<Operation> completed, List<Operation> again, int status, ItemError error) {
        metrics.itemsToSendAgain(again.size());
        underLock(() -> {
            partialAnswered(bulk);
            bulk.keepOnly(again);
            release(completed);
        });
        repeat(bulk, status, Failures.withheld(error), null, false);
    }

    private void partialAnswered(Bulk bulk) {
        if (bulk.isPartial()) {
            bulk.setPartial(false);
            lanes.partialAnswered(bulk.index());
        }
    }

    private void release(List<Operation> ended) {
        for (Operation operation : ended) {
            held.release(operation).forEach(lanes::add);
        }
    }

    @Override
    public void refused(Bulk bulk, int status, ItemError error) {
        guarded(bulk, () -> {
            metrics.bulkFailed(status);
            Outcome outcome = Outcome.ofRequest(status, error, isAuthorised());
            if (outcome instanceof Outcome.Again) {
                repeat(bulk, status, error, null, Outcome.isOfNode(status));
            } else if (outcome instanceof Outcome.AgainCounted) {
                repeatCounted(bulk, status, error, null);
            } else if (outcome instanceof Outcome.InHalves) {
                halve(bulk, status, error);
            } else {
                fail(bulk, status, error, 0, null);
            }
        });
    }

    @Override
    public void unanswered(Bulk bulk, Exception cause) {
        guarded(bulk, () -> {
            metrics.bulkFailed(0);
            if (!client.isRunning()) {
                fail(bulk, 0, null, 0, cause);
            } else if (cause instanceof MismatchedAnswerException mismatch) {
                metrics.answerMismatched();
                Failures.shoutOf(bulk, mismatch);
                repeatCounted(bulk, 0, null, cause);
            } else {
                repeat(bulk, 0, null, cause, true);
            }
        });
    }

    private void repeatCounted(Bulk bulk, int status, ItemError error, Exception cause) {
        if (bulk.countAttempt() > settings.maxRetries()) {
            fail(bulk, status, error, 0, cause);
        } else {
            repeat(bulk, status, error, cause, cause != null);
        }
    }

    /** A document that is alone is at fault if the error says so, or if others get through meanwhile. */
    private void halve(Bulk bulk, int status, ItemError error) {
        bulk.refused(timers.nanoTime());
        if (bulk.size() == 1) {
            if (status == TOO_LARGE || Outcome.isAboutContent(error) || doOthersGetThrough(bulk)) {
                reject(bulk.operations().get(0), status, error);
                finishAndRelease(bulk, bulk.operations());
            } else {
                repeatCounted(bulk, status, error, null);
            }
            return;
        }
        List<Operation> revoked = new ArrayList<>();
        underLock(() -> {
            bulk.waiting();
            revoked.addAll(takeRevoked(bulk));
            if (bulk.size() > 1) {
                lanes.addFirst(bulk.splitOff());
            }
            release(revoked);
        });
        reportRevoked(revoked);
        send(bulk);
    }

    /**
     * Sends the request again after a random wait, unless nothing of it succeeded for too long.
     *
     * @param isOfNode whether only the node failed it: if another one is living, that one gets it at once
     */
    private void repeat(Bulk bulk, int status, ItemError error, Exception cause, boolean isOfNode) {
        String what = Failures.describe(bulk, status, error, cause);
        failures.add(bulk, what);
        long failingForMs = TimeUnit.NANOSECONDS.toMillis(bulk.failingForNanos(timers.nanoTime()));
        if (failingForMs >= settings.retryTimeoutMs()) {
            fail(bulk, status, error, 0, cause);
            return;
        }
        boolean goesElsewhere = isOfNode && client.hasLivingNode();
        long delayMs = goesElsewhere ? 0 : backoff.delayMs(Math.max(1, bulk.attempts()));
        failures.warnNowAndThen(bulk, what, delayMs, timers.nanoTime());
        letWait(bulk);
        timers.after(delayMs, () -> send(bulk));
    }

    /** Lets a request wait for its next attempt, without what was revoked meanwhile; one without any is done. */
    private void letWait(Bulk bulk) {
        List<Operation> revoked = new ArrayList<>();
        underLock(() -> {
            bulk.waiting();
            revoked.addAll(takeRevoked(bulk));
            release(revoked);
        });
        reportRevoked(revoked);
    }

    private void fail(Bulk bulk, int status, ItemError error, int item, Throwable cause) {
        synchronized (this) {
            if (stopped) {
                return;
            }
            stopped = true;
        }
        results.failed(new ConnectException(Failures.describe(bulk, status, error, item, cause), cause));
    }
}
