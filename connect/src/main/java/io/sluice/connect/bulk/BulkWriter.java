package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.time.Timers;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.connect.errors.ConnectException;

/**
 * Forms bulk requests, keeps up to N of them under way, and repeats what failed and may succeed.
 *
 * <p>A bulk request has a permit from when it is sent until each of its operations is decided; it keeps it while it
 * waits for another attempt. A request that is not full is sent only when nothing else not full is under way for its
 * index, so that under load the requests fill up whatever the linger time.
 */
public final class BulkWriter implements BulkClient.Listener {
    private static final int REFUSALS_BEFORE_HALVING = 3;
    private static final long SMALL_REQUEST_BYTES = 256L << 10;
    private static final int TOO_MANY_REQUESTS = 429;

    private final BulkSettings settings;
    private final Pace pace;
    private final BulkClient client;
    private final Backoff backoff;
    private final Timers timers;
    private final Decisions decisions;
    private final SinkMetrics metrics;

    private final Limiter limiter;
    private final Lanes lanes;
    private final Set<Bulk> underWay = new HashSet<>();
    private final Failures failures;
    private final HeldOperations held;
    private Limits told;
    private boolean authorised;
    private boolean stopped;

    public BulkWriter(
            BulkSettings settings,
            BulkClient client,
            Backoff backoff,
            Timers timers,
            Decisions decisions,
            SinkMetrics metrics) {
        this.settings = settings;
        this.held = settings.inOrder() ? new HeldUpserts() : new HeldDeletes();
        this.pace = new Pace(settings.maxDocumentsPerSecond(), settings.maxBytesPerSecond());
        this.limiter = settings.limiter();
        this.lanes = new Lanes(settings.lingerMs(), timers, this::sendLingering);
        this.client = client;
        this.backoff = backoff;
        this.timers = timers;
        this.decisions = decisions;
        this.metrics = metrics;
        this.failures = new Failures(metrics);
        tellLimits();
    }

    /** Takes operations over; each is sent with others when a request is full or the linger time is over. */
    public void add(List<Operation> operations) {
        List<Bulk> sendable = List.of();
        synchronized (this) {
            boolean isAnyFull = false;
            Limits limits = limiter.limits();
            for (Operation operation : operations) {
                isAnyFull |= !held.mustWait(operation) && lanes.add(operation, limits);
            }
            if (isAnyFull) {
                sendable = takeSendable();
            }
        }
        sendable.forEach(this::send);
    }

    /** Sends what is there without waiting for more. */
    public void flush() {
        List<Bulk> sendable;
        synchronized (this) {
            lanes.flush();
            sendable = takeSendable();
        }
        sendable.forEach(this::send);
    }

    /**
     * Lets go of the operations whose partition was given up and that are not under way; those under way are not sent
     * again. So whoever owns a partition next never meets a late attempt of ours, a request that is on the wire aside.
     */
    public void giveBack() {
        List<Operation> givenUp = new ArrayList<>();
        List<Bulk> sendable;
        synchronized (this) {
            givenUp.addAll(held.takeGivenUp());
            List<Operation> released = lanes.takeGivenUp();
            appendReleased(released);
            givenUp.addAll(released);
            sendable = takeSendable();
        }
        givenUp.forEach(operation -> decisions.givenBack(operation.delivery()));
        sendable.forEach(this::send);
    }

    /** Ends all repetition; answers that still come decide their operations. */
    public synchronized void stop() {
        stopped = true;
    }

    /** Age of the operation that has waited longest, 0 when there is none. */
    public synchronized long oldestAgeMillis() {
        long now = timers.nanoTime();
        long oldest = Math.min(now, lanes.oldestReadAtNanos());
        for (Bulk bulk : underWay) {
            oldest = Math.min(oldest, bulk.oldestReadAtNanos());
        }
        return TimeUnit.NANOSECONDS.toMillis(now - oldest);
    }

    private void sendLingering() {
        List<Bulk> sendable;
        synchronized (this) {
            lanes.disarm();
            sendable = takeSendable();
        }
        sendable.forEach(this::send);
    }

    /** Takes permits for what may be sent. */
    private List<Bulk> takeSendable() {
        if (stopped) {
            return List.of();
        }
        tellLimits();
        Limits limits = limiter.limits();
        List<Bulk> sendable = new ArrayList<>();
        while (underWay.size() < limits.inFlight()) {
            Bulk next = lanes.next(limits);
            if (next == null) {
                break;
            }
            underWay.add(next);
            sendable.add(next);
        }
        return sendable;
    }

    private void tellLimits() {
        Limits limits = limiter.limits();
        if (!limits.equals(told)) {
            told = limits;
            metrics.aimsAt(limits.inFlight(), limits.documents(), limits.bytes());
        }
    }

    private void send(Bulk bulk) {
        long waitNanos = pace.reserve(bulk.size(), bulk.bodyBytes(), timers.nanoTime());
        if (waitNanos == 0) {
            sendNow(bulk);
        } else {
            timers.after(1 + TimeUnit.NANOSECONDS.toMillis(waitNanos), () -> sendUnlessStopped(bulk));
        }
    }

    private void sendNow(Bulk bulk) {
        List<Operation> givenUp;
        synchronized (this) {
            givenUp = bulk.takeGivenUp();
        }
        givenUp.forEach(operation -> decisions.givenBack(operation.delivery()));
        if (bulk.size() == 0) {
            finished(bulk, givenUp);
            return;
        }
        release(givenUp);
        metrics.bulkSent(bulk.attempts() > 0);
        bulk.sent(timers.nanoTime());
        client.send(bulk, this);
    }

    @Override
    public void answered(Bulk bulk, BulkAnswer answer) {
        metrics.bulkAnswered(bulk.size(), bulk.bodyBytes(), timers.nanoTime() - bulk.sentAtNanos());
        try {
            decide(bulk, answer);
        } catch (RuntimeException bug) {
            // It must not reach the client's I/O thread, which would end and leave all requests unanswered.
            fail(bulk, 0, null, 0, bug);
        }
    }

    private void decide(Bulk bulk, BulkAnswer answer) {
        List<Operation> decided = new ArrayList<>(bulk.size());
        List<Delivery> through = new ArrayList<>(bulk.size());
        List<Operation> again = new ArrayList<>(0);
        int firstAgain = -1;
        boolean isBusy = false;
        for (int i = 0; i < bulk.size(); i++) {
            Operation operation = bulk.operations().get(i);
            ItemError error = answer.error(i);
            ItemOutcome outcome = ItemOutcome.of(operation.kind(), answer.status(i), error, operation.version());
            if (isFinal(operation, outcome)) {
                if (outcome == ItemOutcome.REJECTED) {
                    metrics.itemRejected();
                    decisions.rejected(
                            operation.delivery(), answer.status(i), error == null ? ItemError.UNKNOWN : error);
                } else if (outcome.fate() == null) {
                    decisions.decided(through);
                    fail(bulk, i, answer);
                    return;
                } else {
                    operation.delivery().setFate(outcome.fate());
                    through.add(operation.delivery());
                }
                decided.add(operation);
            } else {
                firstAgain = firstAgain < 0 ? i : firstAgain;
                isBusy |= answer.status(i) == TOO_MANY_REQUESTS;
                again.add(operation);
            }
        }
        decisions.decided(through);
        authorised = true;
        if (isBusy) {
            overloaded(bulk);
        } else {
            tellAnswered(bulk, decided);
        }
        if (again.isEmpty()) {
            finished(bulk, decided);
        } else {
            repeatItems(bulk, decided, again, firstAgain, answer);
        }
    }

    private synchronized void tellAnswered(Bulk bulk, List<Operation> decided) {
        long bytes = 0;
        for (Operation operation : decided) {
            bytes += operation.bodyBytes();
        }
        Limits limits = limiter.limits();
        long now = timers.nanoTime();
        boolean isHeldBack = underWay.size() >= limits.inFlight() && lanes.hasFull(limits) && !pace.holdsBack(now);
        long work = Answered.work(decided.size(), bytes);
        limiter.answered(new Answered(bulk.sentAtNanos(), now, work, isHeldBack, !bulk.isPartial()));
    }

    private synchronized void overloaded(Bulk bulk) {
        if (bulk.isFirstSending()) {
            limiter.overloaded(bulk.sentAtNanos(), timers.nanoTime());
        }
    }

    private synchronized void tellFailed() {
        limiter.failed(timers.nanoTime());
    }

    private boolean isFinal(Operation operation, ItemOutcome outcome) {
        return switch (outcome) {
            case RETRY -> false;
            case RETRY_COUNTED -> operation.countAttempt() > settings.maxRetries();
            default -> true;
        };
    }

    private void fail(Bulk bulk, int item, BulkAnswer answer) {
        int status = answer.status(item);
        ItemError error = answer.error(item);
        boolean isAboutDocument = !ItemOutcome.isIndexTrouble(error) && !ItemOutcome.isAboutAccess(error);
        fail(bulk, status, isAboutDocument ? Failures.withheld(error) : error, item, null);
    }

    private void finished(Bulk bulk, List<Operation> decided) {
        List<Bulk> sendable;
        synchronized (this) {
            underWay.remove(bulk);
            failures.over(bulk);
            partialAnswered(bulk);
            appendReleased(decided);
            sendable = takeSendable();
        }
        sendable.forEach(this::send);
    }

    private void repeatItems(
            Bulk bulk, List<Operation> decided, List<Operation> again, int firstAgain, BulkAnswer answer) {
        metrics.itemsToSendAgain(again.size());
        ItemError error = Failures.withheld(answer.error(firstAgain));
        int status = answer.status(firstAgain);
        List<Bulk> sendable;
        synchronized (this) {
            partialAnswered(bulk);
            bulk.keepOnly(again);
            appendReleased(decided);
            sendable = takeSendable();
        }
        sendable.forEach(this::send);
        repeat(bulk, status, error, null);
    }

    private void release(List<Operation> givenUp) {
        if (!givenUp.isEmpty()) {
            List<Bulk> sendable;
            synchronized (this) {
                appendReleased(givenUp);
                sendable = takeSendable();
            }
            sendable.forEach(this::send);
        }
    }

    private void partialAnswered(Bulk bulk) {
        if (bulk.isPartial()) {
            bulk.setPartial(false);
            lanes.partialAnswered(bulk.index());
        }
    }

    private void appendReleased(List<Operation> decided) {
        for (Operation operation : decided) {
            held.release(operation).forEach(next -> lanes.add(next, limiter.limits()));
        }
    }

    @Override
    public void refused(Bulk bulk, int status, ItemError error) {
        metrics.bulkFailed(status);
        RequestOutcome outcome = RequestOutcome.of(status, authorised);
        switch (outcome) {
            case RETRY -> repeatLater(bulk, status, error);
            case RETRY_COUNTED -> repeatCounted(bulk, status, error);
            case SPLIT -> split(bulk, status, error);
            default -> fail(bulk, status, error, 0, null);
        }
    }

    @Override
    public void unanswered(Bulk bulk, Exception cause) {
        metrics.bulkFailed(0);
        if (cause instanceof SocketTimeoutException) {
            overloaded(bulk);
        } else {
            tellFailed();
        }
        if (cause instanceof IOException) {
            repeat(bulk, 0, null, cause);
        } else {
            fail(bulk, 0, null, 0, cause);
        }
    }

    private void repeatLater(Bulk bulk, int status, ItemError error) {
        if (status == TOO_MANY_REQUESTS) {
            overloaded(bulk);
            halveIfRefusedAgainAndAgain(bulk);
        } else {
            tellFailed();
        }
        repeat(bulk, status, error, null);
    }

    /** One that never gets in, however long it waits, may be more than the cluster takes at once. */
    private synchronized void halveIfRefusedAgainAndAgain(Bulk bulk) {
        boolean isLarge = bulk.size() > 1 && bulk.bodyBytes() > SMALL_REQUEST_BYTES;
        if (settings.adaptive() && isLarge && bulk.attempts() >= REFUSALS_BEFORE_HALVING) {
            lanes.addFirst(bulk.splitOff());
        }
    }

    private void repeatCounted(Bulk bulk, int status, ItemError error) {
        if (bulk.countAttempt() > settings.maxRetries()) {
            fail(bulk, status, error, 0, null);
        } else {
            repeat(bulk, status, error, null);
        }
    }

    private void split(Bulk bulk, int status, ItemError error) {
        if (bulk.size() == 1) {
            metrics.itemRejected();
            decisions.rejected(bulk.operations().get(0).delivery(), status, error);
            finished(bulk, bulk.operations());
            return;
        }
        synchronized (this) {
            lanes.addFirst(bulk.splitOff());
        }
        send(bulk);
    }

    /** Sends the request again after a random wait, unless nothing of it succeeded for too long. */
    private void repeat(Bulk bulk, int status, ItemError error, Exception cause) {
        String what = Failures.describe(bulk, status, error, cause);
        failures.add(bulk, what);
        long failingForMs = TimeUnit.NANOSECONDS.toMillis(bulk.failingForNanos(timers.nanoTime()));
        if (failingForMs >= settings.retryTimeoutMs()) {
            fail(bulk, status, error, 0, cause);
            return;
        }
        long delayMs = backoff.delayMs(Math.max(1, bulk.attempts()));
        failures.warnNowAndThen(bulk, what, delayMs, timers.nanoTime());
        timers.after(delayMs, () -> sendAgain(bulk));
    }

    private synchronized boolean isStopped() {
        return stopped;
    }

    private void sendAgain(Bulk bulk) {
        if (!isStopped()) {
            send(bulk);
        }
    }

    private void sendUnlessStopped(Bulk bulk) {
        if (!isStopped()) {
            sendNow(bulk);
        }
    }

    private void fail(Bulk bulk, int status, ItemError error, int item, Exception cause) {
        synchronized (this) {
            if (stopped) {
                return;
            }
            stopped = true;
        }
        decisions.failed(new ConnectException(Failures.describe(bulk, status, error, item, cause), cause));
    }
}
