package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.time.Timers;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * What waits to be sent, by index. A request is cut when it may be sent, not when its operations come, so that it has
 * the size that is wanted then.
 */
final class Lanes {
    private final Map<String, Lane> lanes = new HashMap<>();
    private final ArrayDeque<Bulk> halves = new ArrayDeque<>();
    private final long lingerMs;
    private final Timers timers;
    private final Runnable whenDue;
    private boolean armed;

    /** @param whenDue called when a request that is not full may have waited long enough */
    Lanes(long lingerMs, Timers timers, Runnable whenDue) {
        this.lingerMs = lingerMs;
        this.timers = timers;
        this.whenDue = whenDue;
    }

    /** Returns whether the operation made a request full. */
    boolean add(Operation operation, Limits limits) {
        Lane lane = lanes.computeIfAbsent(operation.index(), Lane::new);
        boolean wasEmpty = lane.isEmpty();
        lane.add(operation);
        if (wasEmpty) {
            lane.lingersSince(timers.nanoTime());
        }
        if (wasEmpty && lane.mayLinger()) {
            arm(lingerMs);
        }
        return lane.isFull(limits);
    }

    /** What was split off a request goes before everything else. */
    void addFirst(Bulk half) {
        halves.addFirst(half);
    }

    void flush() {
        lanes.values().forEach(Lane::flush);
    }

    /** The request to be sent next, full ones first, or {@code null}: then {@code whenDue} is called in time. */
    Bulk next(Limits limits) {
        if (!halves.isEmpty()) {
            return halves.poll();
        }
        long now = timers.nanoTime();
        Lane full = oldestFull(limits);
        if (full != null) {
            return full.cut(limits, now);
        }
        for (Lane lane : lanes.values()) {
            if (lane.mayLinger() && remainingMs(lane, now) <= 0) {
                return lane.cutPartial(limits, now);
            }
        }
        armForTheNext(now);
        return null;
    }

    private Lane oldestFull(Limits limits) {
        return lanes.values().stream()
                .filter(lane -> lane.isFull(limits))
                .min(Comparator.comparingLong(Lane::oldestReadAtNanos))
                .orElse(null);
    }

    /** Whether a request is there that only a permit is missing for. */
    boolean hasFull(Limits limits) {
        return !halves.isEmpty() || lanes.values().stream().anyMatch(lane -> lane.isFull(limits));
    }

    private long remainingMs(Lane lane, long nowNanos) {
        return lingerMs - TimeUnit.NANOSECONDS.toMillis(nowNanos - lane.sinceNanos());
    }

    private void armForTheNext(long nowNanos) {
        long shortest = Long.MAX_VALUE;
        for (Lane lane : lanes.values()) {
            shortest = lane.mayLinger() ? Math.min(shortest, remainingMs(lane, nowNanos)) : shortest;
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
        lanes.get(index).partialAnswered();
    }

    /** Removes and returns the operations whose partition was given up. */
    List<Operation> takeGivenUp() {
        List<Operation> givenUp = new ArrayList<>();
        halves.forEach(half -> givenUp.addAll(half.takeGivenUp()));
        halves.removeIf(half -> half.size() == 0);
        lanes.values().forEach(lane -> givenUp.addAll(lane.takeGivenUp()));
        return givenUp;
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
