package io.sluice.connect.bulk;

import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.time.Timers;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.errors.ConnectException;

/**
 * Sends bulk requests and does about each answer what {@link RetryPolicy} says. The task's thread, the client's and the
 * timers' come here; what they share is in {@link RequestQueue}.
 */
public final class BulkWriter implements BulkClient.Listener {
    private static final int CONFLICT = 409;

    private final Pace pace;
    private final BulkClient client;
    private final Backoff backoff;
    private final Timers timers;
    private final Results results;
    private final SinkMetrics metrics;

    private final Progress progress = new Progress();
    private final RetryPolicy policy;
    private final RequestQueue queue;
    private final Failures failures;
    /** Whether the task owns partitions whose records go to several targets. */
    private volatile boolean hasSeveralTargets;

    public BulkWriter(
            SinkConfig config,
            BulkClient client,
            Backoff backoff,
            Timers timers,
            Results results,
            SinkMetrics metrics) {
        this.pace = new Pace(
                config.requests().maxDocumentsPerSecond(), config.requests().maxBytesPerSecond());
        this.policy = new RetryPolicy(config.retries(), config.targets().autoCreate(), progress);
        this.client = client;
        this.backoff = backoff;
        this.timers = timers;
        this.results = results;
        this.metrics = metrics;
        this.failures = new Failures(metrics);
        this.queue = new RequestQueue(config, client::shardsOf, timers, new QueueListener());
    }

    private final class QueueListener implements RequestQueue.Listener {
        @Override
        public void sendable(Bulk bulk) {
            send(bulk);
        }

        @Override
        public void revoked(List<Operation> operations) {
            operations.forEach(operation -> results.revoked(operation.delivery()));
        }

        @Override
        public void forgotten(String target) {
            failures.forgotten(target);
            results.served(target);
        }

        @Override
        public void finished(Bulk bulk) {
            failures.over(bulk);
        }
    }

    /** Notes whether the records of this task go to several targets: then one that cannot be served ends no work. */
    public void setSeveralTargets(boolean several) {
        hasSeveralTargets = several;
    }

    /** Takes operations over; each is sent with others when a request is full or the linger time is over. */
    public void add(List<Operation> operations) {
        queue.add(operations);
    }

    /** Sends what is there without waiting for more. */
    public void flush() {
        queue.flush();
    }

    /**
     * Lets go of the operations whose partition was revoked, except for those on the wire, which are not sent again. So
     * whoever owns a partition next never meets a later attempt of ours.
     */
    public void revoke() {
        queue.revoke();
    }

    /** Whether operations are on the wire whose partition was revoked. */
    public boolean hasRevokedOnTheWire() {
        return queue.hasRevokedOnTheWire();
    }

    /** Ends all repetition; answers that still come complete their operations. */
    public void stop() {
        queue.stop();
    }

    /** Age of the operation that has waited longest, 0 when there is none. */
    public long oldestAgeMillis() {
        long now = timers.nanoTime();
        return TimeUnit.NANOSECONDS.toMillis(now - queue.oldestReadAtNanos(now));
    }

    /** The partitions of records whose targets cannot be served. */
    public Set<TopicPartition> parkedPartitions() {
        return queue.parked().stream()
                .map(operation -> operation.delivery().origin())
                .map(origin -> new TopicPartition(origin.topic(), origin.partition()))
                .collect(Collectors.toSet());
    }

    private void send(Bulk bulk) {
        long waitNanos = queue.take(bulk, pace);
        if (waitNanos == 0) {
            sendNow(bulk);
        } else {
            timers.after(1 + TimeUnit.NANOSECONDS.toMillis(waitNanos), () -> send(bulk));
        }
    }

    private void sendNow(Bulk bulk) {
        if (queue.mayBeSent(bulk)) {
            metrics.bulkSent(bulk.attempts() > 1);
            if (!bulk.node().isEmpty()) {
                metrics.bulkByShardSent();
            }
            client.send(bulk, this);
        }
    }

    /** A bug must not reach the client's I/O thread, which would end and leave all requests unanswered. */
    private void guarded(Bulk bulk, Runnable reaction) {
        queue.answered(bulk);
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
        if (!steps.ended().isEmpty() && steps.firstUnserved() < 0) {
            served(bulk.index(), now);
        }
        results.completed(steps.completed());
        steps.rejected().forEach(item -> reject(bulk, answer, item));
        steps.suspected().forEach(item -> suspect(bulk, answer, item));
        failures.warnOfUnstored(bulk.index(), steps.redirected(), steps.droppedByPipeline(), now);
        if (steps.remaining().isEmpty()) {
            queue.finish(bulk, steps.ended());
        } else {
            keepRemaining(bulk, answer, steps);
        }
    }

    private void keepRemaining(Bulk bulk, BulkAnswer answer, ItemSteps steps) {
        if (steps.firstUnserved() >= 0) {
            ConnectException cause = failure(bulk, answer, steps.firstUnserved());
            queue.keepOnly(bulk, steps.remaining(), steps.ended());
            parkOrFail(bulk, cause);
            return;
        }
        if (answer.isMuddled()) {
            metrics.itemsToSendAgain(steps.remaining().size());
            queue.keepOnly(bulk, steps.remaining(), steps.ended());
            // Nothing of it is stored. What is alone, or among its like, is told from the others.
            halve(bulk);
            return;
        }
        int first = steps.firstRemaining();
        ItemError error = Failures.withheld(answer.error(first));
        ConnectException cause = failure(bulk, answer, first);
        metrics.itemsToSendAgain(steps.remaining().size());
        queue.keepOnly(bulk, steps.remaining(), steps.ended());
        Step step = policy.ofRepeated(bulk, timers.nanoTime());
        // One that met another document of its id was served.
        boolean mayPark = answer.status(first) != CONFLICT && canOthersGoOn(bulk);
        if (step == Step.REPEAT || step == Step.PARK && !mayPark) {
            repeat(bulk, Failures.describe(bulk, answer.status(first), error, null), false);
        } else if (step == Step.PARK) {
            park(bulk, cause);
        } else {
            fail(cause);
        }
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
        Parking before = queue.unpark(index);
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
        Parking parking = queue.parking(bulk.index());
        long now = timers.nanoTime();
        return (hasSeveralTargets || progress.isAnotherStored(bulk.index()))
                && (parking == null || !policy.isParkedTooLong(parking.sinceNanos(), now));
    }

    /** Keeps back the records of a target that cannot be served; those of others go on. */
    private void park(Bulk bulk, ConnectException cause) {
        if (queue.park(bulk, backoff)) {
            results.parked(bulk.index());
        }
        if (queue.parking(bulk.index()) != null) {
            failures.parked(bulk.index(), cause.getMessage(), timers.nanoTime());
        }
    }

    @Override
    public void refused(Bulk bulk, int status, ItemError error) {
        guarded(bulk, () -> {
            metrics.bulkFailed(status);
            Step step = policy.ofRefused(bulk, status, error, queue.isOldest(bulk), timers.nanoTime());
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
            Step step = policy.ofUnanswered(bulk, cause, queue.isOldest(bulk), timers.nanoTime());
            go(bulk, step, new Failed(0, null, cause, true));
        });
    }

    /**
     * Why a request failed as a whole.
     *
     * @param isOfNode whether only the node failed it: if another one is living, that one gets it at once
     */
    private record Failed(int status, ItemError error, Exception cause, boolean isOfNode) {}

    private void go(Bulk bulk, Step step, Failed why) {
        // Another node may serve what this one did not.
        bulk.setNode("");
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
        queue.finish(bulk, bulk.operations());
    }

    private void halve(Bulk bulk) {
        queue.halve(bulk);
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
        queue.repeat(bulk);
        timers.after(delayMs, () -> send(bulk));
    }

    private void fail(ConnectException cause) {
        if (queue.stop()) {
            results.failed(cause);
        }
    }
}
