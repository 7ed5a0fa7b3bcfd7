package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** The operations that wait to be sent to one index, in order. */
final class Lane {
    private final String index;
    private final ArrayDeque<Operation> waiting = new ArrayDeque<>();
    private long bytes;
    private long sinceNanos;
    private int flushed;
    private boolean partialUnderWay;

    Lane(String index) {
        this.index = index;
    }

    void add(Operation operation) {
        waiting.add(operation);
        bytes += operation.bodyBytes();
    }

    /** Lets what waits now be sent without waiting for more. */
    void flush() {
        flushed = waiting.size();
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    boolean isFull(Limits limits) {
        return waiting.size() >= limits.documents() || bytes >= limits.bytes() || flushed > 0;
    }

    /** Whether a request that is not full may be sent as soon as it has waited long enough. */
    boolean mayLinger() {
        return !waiting.isEmpty() && !partialUnderWay;
    }

    /** The time from which on the next request lingers. */
    void lingersSince(long nowNanos) {
        sinceNanos = nowNanos;
    }

    long sinceNanos() {
        return sinceNanos;
    }

    /** Later than any time when nothing waits. */
    long oldestReadAtNanos() {
        return waiting.isEmpty() ? Long.MAX_VALUE : waiting.peek().delivery().readAtNanos();
    }

    /** The next request: as much as the limits allow, and at least one operation. */
    Bulk cut(Limits limits, long nowNanos) {
        Bulk bulk = new Bulk(index);
        int most = flushed > 0 ? Math.min(flushed, limits.documents()) : limits.documents();
        do {
            Operation operation = waiting.poll();
            bytes -= operation.bodyBytes();
            bulk.add(operation);
        } while (!waiting.isEmpty()
                && bulk.size() < most
                && bulk.bodyBytes() + waiting.peek().bodyBytes() <= limits.bytes());
        flushed = Math.max(0, flushed - bulk.size());
        sinceNanos = nowNanos;
        return bulk;
    }

    /** The same for a request that is not full, of which only one is under way at a time. */
    Bulk cutPartial(Limits limits, long nowNanos) {
        Bulk bulk = cut(limits, nowNanos);
        bulk.setPartial(true);
        partialUnderWay = true;
        return bulk;
    }

    void partialAnswered() {
        partialUnderWay = false;
    }

    /** Removes and returns the operations whose partition was given up. */
    List<Operation> takeGivenUp() {
        List<Operation> givenUp = new ArrayList<>();
        for (Operation operation : waiting) {
            if (operation.delivery().isGivenUp()) {
                givenUp.add(operation);
                bytes -= operation.bodyBytes();
            }
        }
        if (!givenUp.isEmpty()) {
            waiting.removeIf(operation -> operation.delivery().isGivenUp());
            flushed = Math.min(flushed, waiting.size());
        }
        return givenUp;
    }
}
