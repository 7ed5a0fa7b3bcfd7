package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.metrics.SinkMetrics;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.connect.errors.ConnectException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Forms bulk requests, keeps up to N of them under way, and repeats what failed and may succeed.
 *
 * <p>A bulk request has a permit from when it is sent until each of its operations is decided; it keeps it while it
 * waits for another attempt. A request that is not full is sent only when nothing else not full is under way for its
 * index, so that under load the requests fill up whatever the linger time.
 */
public final class BulkWriter implements BulkClient.Listener {
    private static final Logger LOG = LoggerFactory.getLogger(BulkWriter.class);
    private static final long WARNING_INTERVAL_NANOS = 10_000_000_000L;

    private final BulkSettings settings;
    private final Pace pace;
    private final BulkClient client;
    private final Backoff backoff;
    private final Timers timers;
    private final Decisions decisions;
    private final SinkMetrics metrics;

    private final Map<String, Lane> lanes = new HashMap<>();
    private final ArrayDeque<Bulk> ready = new ArrayDeque<>();
    private final Set<Bulk> underWay = new HashSet<>();
    private final HeldOperations held = new HeldOperations();
    private boolean authorised;
    private long warnedAtNanos;
    private long failuresSinceWarning;
    private boolean stopped;

    public BulkWriter(
            BulkSettings settings,
            BulkClient client,
            Backoff backoff,
            Timers timers,
            Decisions decisions,
            SinkMetrics metrics) {
        this.settings = settings;
        this.pace = new Pace(settings.maxDocumentsPerSecond(), settings.maxBytesPerSecond());
        this.client = client;
        this.backoff = backoff;
        this.timers = timers;
        this.decisions = decisions;
        this.metrics = metrics;
    }

    /** What is being formed for one index. */
    private static final class Lane {
        private Bulk forming;
        private long formingSinceNanos;
        private boolean partialUnderWay;
    }

    /** Takes an operation over; it is sent with others when a request is full or the linger time is over. */
    public void add(Operation operation) {
        List<Bulk> sendable = List.of();
        synchronized (this) {
            if (settings.inOrder() && held.mustWait(operation)) {
                return;
            }
            if (append(operation)) {
                sendable = takeSendable();
            }
        }
        sendable.forEach(this::send);
    }

    /** Sends what is there without waiting for more. */
    public void flush() {
        List<Bulk> sendable;
        synchronized (this) {
            lanes.values().forEach(this::seal);
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
            List<Operation> released = new ArrayList<>();
            ready.forEach(bulk -> released.addAll(bulk.takeGivenUp()));
            ready.removeIf(bulk -> bulk.size() == 0);
            for (Lane lane : lanes.values()) {
                if (lane.forming != null) {
                    released.addAll(lane.forming.takeGivenUp());
                    lane.forming = lane.forming.size() == 0 ? null : lane.forming;
                }
            }
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
        long oldest = now;
        for (Bulk bulk : underWay) {
            oldest = Math.min(oldest, bulk.oldestReadAtNanos());
        }
        for (Bulk bulk : ready) {
            oldest = Math.min(oldest, bulk.oldestReadAtNanos());
        }
        for (Lane lane : lanes.values()) {
            oldest = lane.forming == null ? oldest : Math.min(oldest, lane.forming.oldestReadAtNanos());
        }
        return TimeUnit.NANOSECONDS.toMillis(now - oldest);
    }

    /** Returns whether a request became ready. */
    private boolean append(Operation operation) {
        Lane lane = lanes.computeIfAbsent(operation.index(), index -> new Lane());
        boolean overflows =
                lane.forming != null && lane.forming.bodyBytes() + operation.bodyBytes() > settings.bulkSizeBytes();
        if (overflows) {
            seal(lane);
        }
        if (lane.forming == null) {
            lane.forming = new Bulk(operation.index());
            lane.formingSinceNanos = timers.nanoTime();
            timers.after(settings.lingerMs(), this::sendLingering);
        }
        lane.forming.add(operation);
        boolean full =
                lane.forming.size() >= settings.batchSize() || lane.forming.bodyBytes() >= settings.bulkSizeBytes();
        if (full) {
            seal(lane);
        }
        return full || overflows;
    }

    private void seal(Lane lane) {
        if (lane.forming != null) {
            ready.add(lane.forming);
            lane.forming = null;
        }
    }

    private void sendLingering() {
        List<Bulk> sendable;
        synchronized (this) {
            sendable = takeSendable();
        }
        sendable.forEach(this::send);
    }

    /** Takes permits for full requests first, then for those whose linger time is over. */
    private List<Bulk> takeSendable() {
        if (stopped) {
            return List.of();
        }
        List<Bulk> sendable = new ArrayList<>();
        while (underWay.size() < settings.maxInFlight() && !ready.isEmpty()) {
            sendable.add(take(ready.poll()));
        }
        for (Lane lane : lanes.values()) {
            if (underWay.size() < settings.maxInFlight() && isDue(lane)) {
                lane.forming.setPartial(true);
                lane.partialUnderWay = true;
                sendable.add(take(lane.forming));
                lane.forming = null;
            }
        }
        return sendable;
    }

    private Bulk take(Bulk bulk) {
        underWay.add(bulk);
        return bulk;
    }

    private boolean isDue(Lane lane) {
        if (lane.forming == null || lane.partialUnderWay) {
            return false;
        }
        long remainingMs =
                settings.lingerMs() - TimeUnit.NANOSECONDS.toMillis(timers.nanoTime() - lane.formingSinceNanos);
        return remainingMs <= 0;
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
        List<Operation> again = new ArrayList<>(0);
        int firstAgain = -1;
        for (int i = 0; i < bulk.size(); i++) {
            Operation operation = bulk.operations().get(i);
            ItemError error = answer.error(i);
            ItemOutcome outcome = ItemOutcome.of(operation.kind(), answer.status(i), error, operation.version());
            if (isFinal(operation, outcome)) {
                if (outcome == ItemOutcome.REJECTED) {
                    decisions.rejected(
                            operation.delivery(), answer.status(i), error == null ? ItemError.UNKNOWN : error);
                } else if (outcome.fate() == null) {
                    fail(bulk, i, answer);
                    return;
                } else {
                    decisions.decided(operation.delivery(), outcome);
                }
                decided.add(operation);
            } else {
                firstAgain = firstAgain < 0 ? i : firstAgain;
                again.add(operation);
            }
        }
        authorised = true;
        if (again.isEmpty()) {
            finished(bulk, decided);
        } else {
            repeatItems(bulk, decided, again, firstAgain, answer);
        }
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
        fail(bulk, status, isAboutDocument ? withheld(error) : error, item, null);
    }

    /** The error without its reason: that of an item may quote the document, and this one may be logged. */
    private static ItemError withheld(ItemError error) {
        return error == null ? null : new ItemError(error.type(), "reason withheld");
    }

    private void finished(Bulk bulk, List<Operation> decided) {
        List<Bulk> sendable;
        synchronized (this) {
            underWay.remove(bulk);
            partialAnswered(bulk);
            appendReleased(decided);
            sendable = takeSendable();
        }
        sendable.forEach(this::send);
    }

    private void repeatItems(
            Bulk bulk, List<Operation> decided, List<Operation> again, int firstAgain, BulkAnswer answer) {
        metrics.itemsToSendAgain(again.size());
        ItemError error = withheld(answer.error(firstAgain));
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
        if (settings.inOrder() && !givenUp.isEmpty()) {
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
            lanes.get(bulk.index()).partialUnderWay = false;
        }
    }

    private void appendReleased(List<Operation> decided) {
        if (settings.inOrder()) {
            decided.forEach(operation -> {
                Operation next = held.release(operation);
                if (next != null) {
                    append(next);
                }
            });
        }
    }

    @Override
    public void refused(Bulk bulk, int status, ItemError error) {
        metrics.bulkFailed();
        RequestOutcome outcome = RequestOutcome.of(status, authorised);
        switch (outcome) {
            case RETRY -> repeat(bulk, status, error, null);
            case RETRY_COUNTED -> repeatCounted(bulk, status, error);
            case SPLIT -> split(bulk, status, error);
            default -> fail(bulk, status, error, 0, null);
        }
    }

    @Override
    public void unanswered(Bulk bulk, Exception cause) {
        metrics.bulkFailed();
        if (cause instanceof IOException) {
            repeat(bulk, 0, null, cause);
        } else {
            fail(bulk, 0, null, 0, cause);
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
            decisions.rejected(bulk.operations().get(0).delivery(), status, error);
            finished(bulk, bulk.operations());
            return;
        }
        synchronized (this) {
            ready.addFirst(bulk.splitOff());
        }
        send(bulk);
    }

    /** Sends the request again after a random wait, unless nothing of it succeeded for too long. */
    private void repeat(Bulk bulk, int status, ItemError error, Exception cause) {
        String what = describe(bulk, status, error, cause);
        metrics.failed(what);
        long failingForMs = TimeUnit.NANOSECONDS.toMillis(bulk.failingForNanos(timers.nanoTime()));
        if (failingForMs >= settings.retryTimeoutMs()) {
            fail(bulk, status, error, 0, cause);
            return;
        }
        long delayMs = backoff.delayMs(Math.max(1, bulk.attempts()));
        warnNowAndThen(bulk, what, delayMs);
        timers.after(delayMs, () -> sendAgain(bulk));
    }

    /** One line for the first failure, then one for all of some seconds; types only, reasons may quote documents. */
    private void warnNowAndThen(Bulk bulk, String what, long delayMs) {
        long now = timers.nanoTime();
        long failures;
        synchronized (this) {
            failuresSinceWarning++;
            if (warnedAtNanos != 0 && now - warnedAtNanos < WARNING_INTERVAL_NANOS) {
                return;
            }
            warnedAtNanos = now;
            failures = failuresSinceWarning;
            failuresSinceWarning = 0;
        }
        LOG.warn(
                "bulk request to {}: {}; {} operations go again in {} ms ({} such failures since the last warning)",
                bulk.index(),
                what,
                bulk.size(),
                delayMs,
                failures);
    }

    /** What failed, without any reason: status and type, or that no answer came, and the host. */
    private static String describe(Bulk bulk, int status, ItemError error, Exception cause) {
        String what = cause == null
                ? "status " + status + (error == null ? "" : " " + error.type())
                : "no answer: " + cause.getClass().getSimpleName();
        return bulk.host().isEmpty() ? what : what + " from " + bulk.host();
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
        decisions.failed(new ConnectException(describe(bulk, status, error, item, cause), cause));
    }

    private static String describe(Bulk bulk, int status, ItemError error, int item, Exception cause) {
        Operation operation = bulk.operations().get(item);
        String what = cause != null
                ? "no answer: " + cause.getClass().getSimpleName() + ": " + cause.getMessage()
                : "status " + status + (error == null ? "" : " " + error.type() + ": " + error.reason());
        return "bulk request to " + bulk.index() + ": " + what + " (attempt " + Math.max(1, bulk.attempts())
                + ", first record concerned " + operation.delivery().origin() + ")";
    }
}
