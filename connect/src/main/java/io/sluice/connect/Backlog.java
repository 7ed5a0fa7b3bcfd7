package io.sluice.connect;

import io.sluice.connect.offset.Delivery;
import io.sluice.connect.time.Timers;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The records this task has read and not completed, bounded in number and bytes. Those for targets that cannot be served
 * are parked: they have a bound of their own, of the same size, so that they keep no others from being read.
 */
final class Backlog {
    /** Not every change that somebody waits for is told here. */
    private static final long LONGEST_NAP_MS = 100;

    private final long maxRecords;
    private final long maxBytes;
    private final Timers timers;
    /** {@code null} where a stop need not wait for all records. */
    private final HeldTime heldTime;

    private final Map<String, Load> loads = new HashMap<>();
    private final Load all = new Load();
    private final Load parked = new Load();

    /** Records of one target, or of several. */
    private static final class Load {
        private long records;
        private long bytes;
        private boolean isParked;

        void add(long moreRecords, long moreBytes) {
            records += moreRecords;
            bytes += moreBytes;
        }
    }

    Backlog(long maxRecords, long maxBytes, Timers timers) {
        this(maxRecords, maxBytes, false, timers);
    }

    /** @param isBoundInTime whether a stop is to find no more than it can wait for */
    Backlog(long maxRecords, long maxBytes, boolean isBoundInTime, Timers timers) {
        this.heldTime = isBoundInTime ? new HeldTime(timers.nanoTime()) : null;
        this.maxRecords = maxRecords;
        this.maxBytes = maxBytes;
        this.timers = timers;
    }

    synchronized void enter(Collection<Delivery> deliveries) {
        deliveries.forEach(delivery -> add(delivery.target(), 1, delivery.heldBytes()));
    }

    synchronized void leave(Collection<Delivery> deliveries) {
        deliveries.forEach(delivery -> add(delivery.target(), -1, -delivery.heldBytes()));
        if (heldTime != null) {
            heldTime.completed(deliveries.size(), timers.nanoTime());
        }
        notifyAll();
    }

    private void add(String target, int records, long bytes) {
        Load load = loads.computeIfAbsent(target, first -> new Load());
        load.add(records, bytes);
        all.add(records, bytes);
        if (load.isParked) {
            parked.add(records, bytes);
        }
        removeIfUnused(target, load);
    }

    /** A target that is not served stays so while nothing of it is held. */
    private void removeIfUnused(String target, Load load) {
        if (load.records == 0 && !load.isParked) {
            loads.remove(target);
        }
    }

    /** What is for this target no longer takes the room of others. */
    synchronized void park(String target) {
        Load load = loads.computeIfAbsent(target, first -> new Load());
        if (!load.isParked) {
            load.isParked = true;
            parked.add(load.records, load.bytes);
        }
        notifyAll();
    }

    /** What is for this target takes room like all others again. */
    synchronized void restore(String target) {
        Load load = loads.get(target);
        if (load != null && load.isParked) {
            load.isParked = false;
            parked.add(-load.records, -load.bytes);
            removeIfUnused(target, load);
        }
    }

    synchronized boolean isEmpty() {
        return all.records == 0;
    }

    synchronized boolean isFull() {
        long most = heldTime == null ? maxRecords : Math.min(maxRecords, heldTime.records());
        return all.records - parked.records >= most || all.bytes - parked.bytes >= maxBytes;
    }

    /** Whether no more may be read of what goes to targets that cannot be served. */
    synchronized boolean isFullOfParked() {
        return parked.records >= maxRecords || parked.bytes >= maxBytes;
    }

    synchronized long parkedRecords() {
        return parked.records;
    }

    /** Wakes whoever waits, so that he looks again. */
    synchronized void wake() {
        notifyAll();
    }

    /** Waits while {@code condition} holds, at most so long; restores an interrupt and returns at once. */
    synchronized void awaitWhile(BooleanSupplier condition, long timeoutMs) {
        long deadline = timers.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        try {
            while (condition.getAsBoolean()) {
                long remainingMs = TimeUnit.NANOSECONDS.toMillis(deadline - timers.nanoTime());
                if (remainingMs <= 0) {
                    return;
                }
                timers.pause(this, Math.min(remainingMs, LONGEST_NAP_MS));
            }
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }
}
