package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.time.Timers;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * What waits to be sent, by index; an index for which nothing waits has no lane.
 *
 * <p>Of the requests that only wait for a permit the one with the oldest record goes first, full or not, so that no index
 * keeps another one waiting.
 */
final class Lanes {
    private final Map<String, Lane> lanes = new HashMap<>();
    private final ArrayDeque<Bulk> halves = new ArrayDeque<>();
    private final BulkSettings settings;
    private final Timers timers;
    private final Runnable whenDue;
    private boolean armed;
    private boolean flushing;

    /** @param whenDue called when a request that is not full may have waited long enough */
    Lanes(BulkSettings settings, Timers timers, Runnable whenDue) {
        this.settings = settings;
        this.timers = timers;
        this.whenDue = whenDue;
    }

    void add(Operation operation) {
        Lane lane = lanes.computeIfAbsent(operation.index(), index -> new Lane(index, settings));
        if (lane.isEmpty()) {
            lane.lingersSince(timers.nanoTime());
        }
        lane.add(operation);
        if (flushing) {
            lane.flush();
        }
    }

    /** What was split off a request goes before everything else. */
    void addFirst(Bulk half) {
        halves.addFirst(half);
    }

    /** Until {@link #linger} nothing waits for more, what comes meanwhile included. */
    void flush() {
        flushing = true;
        lanes.values().forEach(Lane::flush);
    }

    /** Requests that are not full wait for more again. */
    void linger() {
        flushing = false;
    }

    /** The request to be sent next, or {@code null}: then {@code whenDue} is called in time. */
    Bulk next() {
        if (!halves.isEmpty()) {
            return halves.poll();
        }
        long now = timers.nanoTime();
        Lane oldest = null;
        for (Lane lane : lanes.values()) {
            boolean isOlder = oldest == null || lane.oldestReadAtNanos() < oldest.oldestReadAtNanos();
            oldest = isOlder && lane.isReady(now) ? lane : oldest;
        }
        if (oldest == null) {
            armForTheNext(now);
            return null;
        }
        Bulk bulk = oldest.cut(now);
        removeIfUnused(oldest);
        return bulk;
    }

    private void removeIfUnused(Lane lane) {
        if (lane.isUnused()) {
            lanes.remove(lane.index());
        }
    }

    private void armForTheNext(long nowNanos) {
        long shortest = Long.MAX_VALUE;
        for (Lane lane : lanes.values()) {
            shortest = lane.mayLinger() ? Math.min(shortest, lane.remainingMs(nowNanos)) : shortest;
        }
        if (shortest < Long.MAX_VALUE) {
            arm(shortest);
        }
    }

    private void arm(long delayMs) {
        if (!armed) {
            armed = true;
            timers.after(delayMs, whenDue);
        }
    }

    /** To be called when {@code whenDue} was. */
    void disarm() {
        armed = false;
    }

    /** A request for this index that was not full is answered. */
    void partialAnswered(String index) {
        Lane lane = lanes.get(index);
        lane.partialAnswered();
        removeIfUnused(lane);
    }

    /** Removes and returns the operations whose partition was revoked. */
    List<Operation> takeRevoked() {
        List<Operation> revoked = new ArrayList<>();
        halves.forEach(half -> revoked.addAll(half.takeRevoked()));
        halves.removeIf(half -> half.size() == 0);
        for (Iterator<Lane> all = lanes.values().iterator(); all.hasNext(); ) {
            Lane lane = all.next();
            revoked.addAll(lane.takeRevoked());
            if (lane.isUnused()) {
                all.remove();
            }
        }
        return revoked;
    }

    /** How many indices something waits for, or has to come back from. */
    int size() {
        return lanes.size();
    }

    /** Later than any time when nothing waits. */
    long oldestReadAtNanos() {
        long oldest = Long.MAX_VALUE;
        for (Bulk half : halves) {
            oldest = Math.min(oldest, half.oldestReadAtNanos());
        }
        for (Lane lane : lanes.values()) {
            oldest = Math.min(oldest, lane.oldestReadAtNanos());
        }
        return oldest;
    }
}
