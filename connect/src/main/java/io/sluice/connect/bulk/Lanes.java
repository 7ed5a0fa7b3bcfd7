package io.sluice.connect.bulk;

import io.sluice.connect.config.RequestSettings;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.shard.ShardTable;
import io.sluice.connect.time.Timers;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * What waits to be sent, by index; an index for which nothing waits has no lane.
 *
 * <p>Of the requests that only wait for a permit the one with the oldest record goes first, full or not, so that no index
 * keeps another one waiting.
 */
final class Lanes {
    private final Map<String, Lane> lanes = new HashMap<>();
    private final ArrayDeque<Bulk> halves = new ArrayDeque<>();
    private final RequestSettings settings;
    private final Function<String, ShardTable> shards;
    private final Timers timers;
    private final Runnable whenDue;
    /** When {@code whenDue} is called at the latest. */
    private long armedForNanos = Long.MAX_VALUE;

    /** Targets that could not be served and of which nothing is left, since their partitions were revoked. */
    private final Set<String> forgotten = new HashSet<>();

    private boolean flushing;

    /**
     * @param shards what is known now of an index's shards
     * @param whenDue called when a request that is not full may have waited long enough
     */
    Lanes(RequestSettings settings, Function<String, ShardTable> shards, Timers timers, Runnable whenDue) {
        this.settings = settings;
        this.shards = shards;
        this.timers = timers;
        this.whenDue = whenDue;
    }

    void add(Operation operation) {
        Lane lane = lanes.computeIfAbsent(operation.index(), index -> new Lane(index, settings));
        if (lane.isEmpty()) {
            lane.lingersSince(timers.nanoTime());
        }
        lane.add(operation, shards.apply(operation.index()));
        if (flushing) {
            lane.flush(timers.nanoTime());
        }
    }

    /** What was split off a request goes before everything else. */
    void addFirst(Bulk half) {
        halves.addFirst(half);
    }

    /** Until {@link #linger} nothing waits for more, what comes meanwhile included. */
    void flush() {
        flushing = true;
        long now = timers.nanoTime();
        lanes.values().forEach(lane -> lane.flush(now));
    }

    /** Requests that are not full wait for more again. */
    void linger() {
        flushing = false;
    }

    /** The request to be sent next, or {@code null}: then {@code whenDue} is called in time. */
    Bulk next() {
        return halves.isEmpty() ? nextExcept(Set.of()) : halves.poll();
    }

    /** Likewise, but none for these indices. */
    Bulk nextExcept(Set<String> indices) {
        long now = timers.nanoTime();
        Lane oldest = null;
        for (Lane lane : lanes.values()) {
            boolean isOlder = oldest == null || lane.oldestReadAtNanos() < oldest.oldestReadAtNanos();
            boolean isNext = isOlder && lane.isReady(now) && !indices.contains(lane.index());
            oldest = isNext ? lane : oldest;
        }
        if (oldest == null) {
            armForTheNext(now, indices);
            return null;
        }
        Bulk bulk = oldest.cut(now);
        removeIfUnused(oldest);
        return bulk;
    }

    private void removeIfUnused(Lane lane) {
        if (lane.isUnused()) {
            lanes.remove(lane.index());
            noteIfParked(lane);
        }
    }

    private void noteIfParked(Lane removed) {
        if (removed.parking() != null) {
            forgotten.add(removed.index());
        }
    }

    /** Removes and returns the targets that were not served when the last of their operations was revoked. */
    Set<String> takeForgotten() {
        Set<String> taken = forgotten.isEmpty() ? Set.of() : Set.copyOf(forgotten);
        forgotten.clear();
        return taken;
    }

    private void armForTheNext(long nowNanos, Set<String> exceptFor) {
        long shortest = Long.MAX_VALUE;
        for (Lane lane : lanes.values()) {
            boolean isWaitedFor = lane.mayLinger() && !exceptFor.contains(lane.index());
            shortest = isWaitedFor ? Math.min(shortest, lane.remainingMs(nowNanos)) : shortest;
        }
        if (shortest < Long.MAX_VALUE) {
            arm(shortest, nowNanos);
        }
    }

    private void arm(long delayMs, long nowNanos) {
        long dueNanos = nowNanos + TimeUnit.MILLISECONDS.toNanos(delayMs);
        if (dueNanos < armedForNanos) {
            armedForNanos = dueNanos;
            timers.after(delayMs, whenDue);
        }
    }

    /** Keeps back what is for the target of this request; tells whether it was served until now. */
    boolean park(Bulk bulk, Backoff backoff) {
        Lane lane = lanes.computeIfAbsent(bulk.index(), index -> new Lane(index, settings));
        return lane.park(bulk, timers.nanoTime(), backoff);
    }

    /** The target is served; returns since when it was not, {@code null} if it always was. */
    Parking unpark(String index) {
        Lane lane = lanes.get(index);
        if (lane == null || lane.parking() == null) {
            return null;
        }
        Parking before = lane.unpark(timers.nanoTime());
        removeIfUnused(lane);
        return before;
    }

    /** The request that was to find out whether a target is served has ended. */
    void probeEnded(String index) {
        Lane lane = lanes.get(index);
        if (lane != null) {
            lane.probeEnded();
            removeIfUnused(lane);
        }
    }

    /** Since when the target is not served, {@code null} if it is. */
    Parking parking(String index) {
        Lane lane = lanes.get(index);
        return lane == null ? null : lane.parking();
    }

    /** The operations that wait for targets which cannot be served. */
    List<Operation> parked() {
        return lanes.values().stream().flatMap(lane -> lane.parked().stream()).collect(Collectors.toList());
    }

    /** To be called when {@code whenDue} was. */
    void disarm() {
        armedForNanos = Long.MAX_VALUE;
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
                noteIfParked(lane);
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
