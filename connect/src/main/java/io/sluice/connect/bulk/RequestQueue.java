package io.sluice.connect.bulk;

import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.config.WriteMethod;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.shard.ShardTable;
import io.sluice.connect.time.Timers;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Every operation until it has a final result: waiting for an earlier one on its document, waiting to be sent, or in a
 * request in flight, of which there are at most so many.
 *
 * <p>A request counts as in flight from when it is formed until each of its operations is completed, while it waits for
 * another attempt, too. A request that is not full is sent only when nothing else not full is in flight for its index, so
 * that under load the requests fill up whatever the linger time.
 *
 * <p>Safe for several threads. The listener is called without the lock.
 */
final class RequestQueue {
    private final int maxInFlight;
    private final Timers timers;
    private final Listener listener;
    private final Lanes lanes;
    private final HeldOperations held;
    private final Set<Bulk> inFlight = new LinkedHashSet<>();
    private boolean stopped;

    /** Hears what follows from a change. */
    interface Listener {
        /** The request may be sent for the first time. */
        void sendable(Bulk bulk);

        /** The operations were let go, since their partitions are no longer the task's. */
        void revoked(List<Operation> operations);

        /** Nothing waits any more for this target, which could not be served. */
        void forgotten(String target);

        /** Nothing is left of the request. */
        void finished(Bulk bulk);
    }

    /** What follows from a change that is being made under the lock. */
    private static final class Consequences {
        final List<Operation> revoked = new ArrayList<>(0);
        final List<Bulk> finished = new ArrayList<>(1);
        final List<Bulk> sendable = new ArrayList<>(1);
        Set<String> forgotten = Set.of();
    }

    private interface Change {
        void make(Consequences consequences);
    }

    /** @param shards what is known now of an index's shards */
    RequestQueue(SinkConfig config, Function<String, ShardTable> shards, Timers timers, Listener listener) {
        this.maxInFlight = config.requests().maxInFlightRequests();
        this.held = config.writing().writeMethod() == WriteMethod.UPSERT ? new HeldUpserts() : new HeldDeletes();
        this.lanes = new Lanes(config.requests(), shards, timers, this::lingered);
        this.timers = timers;
        this.listener = listener;
    }

    private void make(Change change) {
        Consequences consequences = new Consequences();
        synchronized (this) {
            change.make(consequences);
            consequences.forgotten = lanes.takeForgotten();
            for (Bulk next = nextSendable(); next != null; next = nextSendable()) {
                inFlight.add(next);
                consequences.sendable.add(next);
            }
        }
        listener.revoked(consequences.revoked);
        consequences.forgotten.forEach(listener::forgotten);
        consequences.finished.forEach(listener::finished);
        consequences.sendable.forEach(listener::sendable);
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
    void add(List<Operation> operations) {
        make(consequences -> {
            lanes.linger();
            for (Operation operation : operations) {
                if (!held.mustWait(operation)) {
                    lanes.add(operation);
                }
            }
        });
    }

    /** Sends what is there without waiting for more. */
    void flush() {
        make(consequences -> lanes.flush());
    }

    private void lingered() {
        make(consequences -> lanes.disarm());
    }

    /** Lets go of all operations whose partition was revoked, except for those on the wire. */
    void revoke() {
        make(consequences -> {
            consequences.revoked.addAll(held.takeRevoked());
            List<Operation> letThrough = lanes.takeRevoked();
            consequences.revoked.addAll(letThrough);
            release(letThrough);
            List.copyOf(inFlight).stream().filter(Bulk::isWaiting).forEach(bulk -> takeRevoked(bulk, consequences));
        });
    }

    /** A request without operations is done. */
    private void takeRevoked(Bulk bulk, Consequences consequences) {
        List<Operation> revoked = bulk.takeRevoked();
        consequences.revoked.addAll(revoked);
        if (bulk.size() == 0) {
            finish(bulk, consequences);
        }
        release(revoked);
    }

    /** All operations of a request are completed. */
    void finish(Bulk bulk, List<Operation> completed) {
        make(consequences -> {
            finish(bulk, consequences);
            release(completed);
        });
    }

    private void finish(Bulk bulk, Consequences consequences) {
        bulk.done();
        inFlight.remove(bulk);
        partialAnswered(bulk);
        if (bulk.isProbe()) {
            lanes.probeEnded(bulk.index());
        }
        consequences.finished.add(bulk);
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

    /** Some operations of a request are completed, the others remain. */
    void keepOnly(Bulk bulk, List<Operation> remaining, List<Operation> completed) {
        make(consequences -> {
            partialAnswered(bulk);
            bulk.keepOnly(remaining);
            release(completed);
        });
    }

    /** Lets a request wait for its next attempt, without what was revoked meanwhile. */
    void repeat(Bulk bulk) {
        make(consequences -> {
            bulk.waiting();
            takeRevoked(bulk, consequences);
        });
    }

    /** Takes the second half of a request's operations, without those revoked meanwhile, for one of their own. */
    void halve(Bulk bulk) {
        make(consequences -> {
            bulk.waiting();
            takeRevoked(bulk, consequences);
            if (bulk.size() > 1) {
                lanes.addFirst(bulk.splitOff());
            }
        });
    }

    /**
     * Keeps back what is for the target of a request, which cannot be served.
     *
     * @return whether it was served until now
     */
    boolean park(Bulk bulk, Backoff backoff) {
        boolean[] isFirst = new boolean[1];
        make(consequences -> {
            List<Operation> revoked = bulk.takeRevoked();
            consequences.revoked.addAll(revoked);
            isFirst[0] = bulk.size() > 0 && lanes.park(bulk, backoff);
            finish(bulk, consequences);
            release(revoked);
        });
        return isFirst[0];
    }

    /** The target is served; returns since when it was not, {@code null} if it always was. */
    synchronized Parking unpark(String index) {
        return lanes.unpark(index);
    }

    /** Since when the target is not served, {@code null} if it is. */
    synchronized Parking parking(String index) {
        return lanes.parking(index);
    }

    /** The operations that wait for targets which cannot be served. */
    synchronized List<Operation> parked() {
        return lanes.parked();
    }

    /** Takes a request's place in the pace; returns the nanoseconds until it comes, 0 also where nothing is left of it. */
    synchronized long take(Bulk bulk, Pace pace) {
        return stopped || bulk.isDone() ? 0 : pace.take(bulk.size(), bulk.bodyBytes(), timers.nanoTime());
    }

    /** Notes that a request goes on the wire; whether it may. */
    synchronized boolean mayBeSent(Bulk bulk) {
        if (stopped || bulk.isDone()) {
            return false;
        }
        bulk.sent(timers.nanoTime());
        return true;
    }

    synchronized void answered(Bulk bulk) {
        bulk.answered();
    }

    synchronized boolean isOldest(Bulk bulk) {
        return inFlight.iterator().next() == bulk;
    }

    /** Whether operations are on the wire whose partition was revoked. */
    synchronized boolean hasRevokedOnTheWire() {
        return inFlight.stream().anyMatch(bulk -> bulk.isOnTheWire() && bulk.hasRevoked());
    }

    /** When the operation that has waited longest was read, or {@code nowNanos}. */
    synchronized long oldestReadAtNanos(long nowNanos) {
        long oldest = Math.min(nowNanos, lanes.oldestReadAtNanos());
        for (Bulk bulk : inFlight) {
            oldest = Math.min(oldest, bulk.oldestReadAtNanos());
        }
        return oldest;
    }

    /** Sends nothing more; tells whether it did until now. */
    synchronized boolean stop() {
        boolean wasRunning = !stopped;
        stopped = true;
        return wasRunning;
    }
}
