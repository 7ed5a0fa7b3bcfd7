package io.sluice.connect.bulk;

import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.config.WriteMethod;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.time.Timers;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
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
    private final int maxInFlight;
    private final Pace pace;
    private final BulkClient client;
    private final Backoff backoff;
    private final Timers timers;
    private final Results results;
    private final SinkMetrics metrics;

    private final Progress progress = new Progress();
    private final RetryPolicy policy;
    private final Lanes lanes;
    private final Set<Bulk> inFlight = new LinkedHashSet<>();
    private final Failures failures;
    private final HeldOperations held;
    private boolean stopped;
    /** Whether the task owns partitions whose records go to several targets. */
    private volatile boolean hasSeveralTargets;

    public BulkWriter(
            SinkConfig config,
            BulkClient client,
            Backoff backoff,
            Timers timers,
            Results results,
            SinkMetrics metrics) {
        this.maxInFlight = config.requests().maxInFlightRequests();
        this.held = config.writing().writeMethod() == WriteMethod.UPSERT ? new HeldUpserts() : new HeldDeletes();
        this.pace = new Pace(
                config.requests().maxDocumentsPerSecond(), config.requests().maxBytesPerSecond());
        this.policy = new RetryPolicy(config.retries(), config.targets().autoCreate(), progress);
        this.client = client;
        this.backoff = backoff;
        this.timers = timers;
        this.results = results;
        this.metrics = metrics;
        this.failures = new Failures(metrics);
        this.lanes = new Lanes(config.requests(), timers, this::lingered);
    }

    /** Notes whether the records of this task go to several targets: then one that cannot be served ends no work. */
    public void setSeveralTargets(boolean several) {
        hasSeveralTargets = several;
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

    /** Requests that fail and wait must not keep those for other targets from being sent: each of these gets one. */
    private Bulk nextSendable() {
        if (stopped) {
            return null;
        }
        if (inFlight.size() < maxInFlight) {
            return lanes.next();
        }
        boolean areAllRepeated =
                inFlight.size() < 2 * maxInFlight && inFlight.stream().allMatch(Bulk::isRepeated);
        return areAllRepeated
                ? lanes.nextExcept(inFlight.stream().map(Bulk::index).collect(Collectors.toSet()))
                : null;
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
            fail(failure(bulk, 0, null, 0, bug));
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
        long now = timers.nanoTime();
        progress.accepted(now);
        if (answer.isAnyStored()) {
            progress.stored(bulk.index(), now);
        }
        ItemSteps steps = new ItemSteps(bulk.operations(), answer, policy, now);
        if (!steps.ended().isEmpty()) {
            served(bulk.index(), now);
        }
        results.completed(steps.completed());
        steps.rejected().forEach(item -> reject(bulk, answer, item));
        steps.suspected().forEach(item -> suspect(bulk, answer, item));
        failures.warnOfUnstored(bulk.index(), steps.redirected(), steps.droppedByPipeline(), now);
        if (steps.remaining().isEmpty()) {
            finishAndRelease(bulk, steps.ended());
        } else {
            keepRemaining(bulk, answer, steps);
        }
    }

    private void keepRemaining(Bulk bulk, BulkAnswer answer, ItemSteps steps) {
        if (steps.firstUnserved() >= 0) {
            ConnectException cause = failure(bulk, answer, steps.firstUnserved());
            keepOnly(bulk, steps);
            parkOrFail(bulk, cause);
            return;
        }
        int first = steps.firstRemaining();
        ItemError error = Failures.withheld(answer.error(first));
        ConnectException cause = failure(bulk, answer, first);
        metrics.itemsToSendAgain(steps.remaining().size());
        keepOnly(bulk, steps);
        Step step = policy.ofRepeated(bulk, timers.nanoTime());
        if (step == Step.REPEAT || step == Step.PARK && !canOthersGoOn(bulk)) {
            repeat(bulk, Failures.describe(bulk, answer.status(first), error, null), false);
        } else if (step == Step.PARK) {
            park(bulk, cause);
        } else {
            fail(cause);
        }
    }

    private void keepOnly(Bulk bulk, ItemSteps steps) {
        underLock(() -> {
            partialAnswered(bulk);
            bulk.keepOnly(steps.remaining());
            release(steps.ended());
        });
    }

    private void reject(Bulk bulk, BulkAnswer answer, int item) {
        metrics.itemRejected();
        results.rejected(bulk.operations().get(item).delivery(), answer.status(item), errorOf(answer, item));
    }

    private void suspect(Bulk bulk, BulkAnswer answer, int item) {
        metrics.itemRejected();
        results.suspected(bulk.operations().get(item).delivery(), answer.status(item), errorOf(answer, item));
    }

    private static ItemError errorOf(BulkAnswer answer, int item) {
        return answer.error(item) == null ? ItemError.UNKNOWN : answer.error(item);
    }

    private ConnectException failure(Bulk bulk, BulkAnswer answer, int item) {
        ItemError error = answer.error(item);
        boolean isAboutDocument = !Outcome.isIndexTrouble(error) && !Outcome.isAboutAccess(error);
        ItemError told = isAboutDocument ? Failures.withheld(error) : error;
        return failure(bulk, answer.status(item), told, item, null);
    }

    private static ConnectException failure(Bulk bulk, int status, ItemError error, int item, Throwable cause) {
        return new ConnectException(Failures.describe(bulk, status, error, item, cause), cause);
    }

    private void served(String index, long nowNanos) {
        Parking before;
        synchronized (this) {
            before = lanes.unpark(index);
        }
        if (before != null) {
            failures.served(index, nowNanos - before.sinceNanos());
            results.served(index);
        }
    }

    private void parkOrFail(Bulk bulk, ConnectException cause) {
        if (canOthersGoOn(bulk)) {
            park(bulk, cause);
        } else {
            fail(cause);
        }
    }

    /** Not for ever: where nothing is stored for long, a task that does nothing must not look like one that works. */
    private boolean canOthersGoOn(Bulk bulk) {
        Parking parking;
        synchronized (this) {
            parking = lanes.parking(bulk.index());
        }
        long now = timers.nanoTime();
        return (hasSeveralTargets || progress.isAnotherStored(bulk.index()))
                && (parking == null || !policy.isParkedTooLong(parking.sinceNanos(), now));
    }

    /** Keeps back the records of a target that cannot be served; those of others go on. */
    private void park(Bulk bulk, ConnectException cause) {
        boolean[] isFirst = new boolean[1];
        List<Operation> revoked = new ArrayList<>();
        underLock(() -> {
            revoked.addAll(bulk.takeRevoked());
            release(revoked);
            isFirst[0] = bulk.size() > 0 && lanes.park(bulk, backoff);
            finish(bulk);
        });
        reportRevoked(revoked);
        if (isFirst[0]) {
            results.parked(bulk.index());
        }
        failures.parked(bulk.index(), cause.getMessage(), timers.nanoTime());
    }

    /** The partitions of records whose targets cannot be served. */
    public synchronized Set<TopicPartition> parkedPartitions() {
        return lanes.parked().stream()
                .map(operation -> operation.delivery().origin())
                .map(origin -> new TopicPartition(origin.topic(), origin.partition()))
                .collect(Collectors.toSet());
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
        if (bulk.isProbe()) {
            lanes.probeEnded(bulk.index());
        }
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
            Step step = policy.ofRefused(bulk, status, error, isOldest(bulk), timers.nanoTime());
            go(bulk, step, new Failed(status, error, null, Outcome.isOfNode(status)));
        });
    }

    @Override
    public void unanswered(Bulk bulk, Exception cause) {
        guarded(bulk, () -> {
            metrics.bulkFailed(0);
            if (!client.isRunning()) {
                fail(failure(bulk, 0, null, 0, cause));
                return;
            }
            if (cause instanceof MismatchedAnswerException mismatch) {
                metrics.answerMismatched();
                Failures.shoutOf(bulk, mismatch);
            }
            Step step = policy.ofUnanswered(bulk, cause, isOldest(bulk), timers.nanoTime());
            go(bulk, step, new Failed(0, null, cause, true));
        });
    }

    /**
     * Why a request failed as a whole.
     *
     * @param isOfNode whether only the node failed it: if another one is living, that one gets it at once
     */
    private record Failed(int status, ItemError error, Exception cause, boolean isOfNode) {}

    private synchronized boolean isOldest(Bulk bulk) {
        return inFlight.iterator().next() == bulk;
    }

    private void go(Bulk bulk, Step step, Failed why) {
        switch (step) {
            case REPEAT ->
                repeat(bulk, Failures.describe(bulk, why.status(), why.error(), why.cause()), why.isOfNode());
            case HALVE -> halve(bulk);
            case REJECT, SUSPECT -> rejectAlone(bulk, step, why);
            case PARK -> parkOrFail(bulk, failure(bulk, why.status(), why.error(), 0, why.cause()));
            default -> fail(failure(bulk, why.status(), why.error(), 0, why.cause()));
        }
    }

    private void rejectAlone(Bulk bulk, Step step, Failed why) {
        Operation operation = bulk.operations().get(0);
        ItemError error = why.error() == null ? ItemError.unanswered(why.cause()) : why.error();
        metrics.itemRejected();
        if (step == Step.REJECT) {
            results.rejected(operation.delivery(), why.status(), error);
        } else {
            results.suspected(operation.delivery(), why.status(), error);
        }
        finishAndRelease(bulk, bulk.operations());
    }

    private void halve(Bulk bulk) {
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
     * Sends the request again after a random wait.
     *
     * @param isOfNode whether only the node failed it: if another one is living, that one gets it at once
     */
    private void repeat(Bulk bulk, String what, boolean isOfNode) {
        failures.add(bulk, what);
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

    private void fail(ConnectException cause) {
        synchronized (this) {
            if (stopped) {
                return;
            }
            stopped = true;
        }
        results.failed(cause);
    }
}
