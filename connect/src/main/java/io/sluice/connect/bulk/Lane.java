package io.sluice.connect.bulk;

import io.sluice.connect.config.RequestSettings;
import io.sluice.connect.encode.Operation;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The operations that wait to be sent to one index, in order. */
final class Lane {
    private final String index;
    private final RequestSettings settings;
    private final ArrayDeque<Operation> waiting = new ArrayDeque<>();
    private long bytes;
    private long sinceNanos;
    private int flushed;
    /** A target that was not served meanwhile may have more than one. */
    private int partialsInFlight;
    /** {@code null} while the target is served. */
    private Parking parking;

    Lane(String index, RequestSettings settings) {
        this.index = index;
        this.settings = settings;
    }

    String index() {
        return index;
    }

    void add(Operation operation) {
        waiting.add(operation);
        bytes += operation.bodyBytes();
    }

    /**
     * Keeps back what is for this target, which cannot be served; a request is sent now and then to see whether it can.
     *
     * @param bulk the request that failed, whose operations go back to where they came from
     * @return whether it was served until now
     */
    boolean park(Bulk bulk, long nowNanos, Backoff backoff) {
        List<Operation> operations = bulk.operations();
        for (int i = operations.size() - 1; i >= 0; i--) {
            operations.get(i).forgetAttempts();
            waiting.addFirst(operations.get(i));
            bytes += operations.get(i).bodyBytes();
        }
        flushed = 0;
        boolean isFirst = parking == null;
        if (isFirst || bulk.isProbe()) {
            parking = isFirst ? Parking.since(nowNanos) : parking;
            parking = parking.again(nowNanos, backoff);
        }
        return isFirst;
    }

    /** The target is served again; returns since when it was not, {@code null} if it always was. */
    Parking unpark(long nowNanos) {
        Parking before = parking;
        parking = null;
        lingersSince(nowNanos);
        return before;
    }

    /** The request that was to find out has ended without telling: another one may. */
    void probeEnded() {
        parking = parking == null ? null : parking.notProbed();
    }

    Parking parking() {
        return parking;
    }

    /** The operations that wait for a target which cannot be served. */
    List<Operation> parked() {
        return parking == null ? List.of() : List.copyOf(waiting);
    }

    /** Lets what waits now be sent without waiting for more. */
    void flush() {
        flushed = waiting.size();
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    boolean isFull() {
        return waiting.size() >= settings.batchSize() || bytes >= settings.bulkSizeBytes() || flushed > 0;
    }

    /** Whether nothing waits and nothing has to come back: the lane may go. */
    boolean isUnused() {
        return waiting.isEmpty() && partialsInFlight == 0 && (parking == null || !parking.isProbed());
    }

    /** Whether a request that is not full may be sent as soon as it has waited long enough. */
    boolean mayLinger() {
        return !waiting.isEmpty() && (parking == null ? partialsInFlight == 0 : !parking.isProbed());
    }

    /** The time from which on the next request lingers. */
    void lingersSince(long nowNanos) {
        sinceNanos = nowNanos;
    }

    /** How much longer a request that is not full has to wait, 0 or less for no longer. */
    long remainingMs(long nowNanos) {
        if (parking != null) {
            return parking.remainingMs(nowNanos);
        }
        return settings.lingerMs() - TimeUnit.NANOSECONDS.toMillis(nowNanos - sinceNanos);
    }

    /** Whether a permit is all that a request of this lane waits for. */
    boolean isReady(long nowNanos) {
        return parking == null && isFull() || mayLinger() && remainingMs(nowNanos) <= 0;
    }

    /** Later than any time when nothing waits. */
    long oldestReadAtNanos() {
        return waiting.isEmpty() ? Long.MAX_VALUE : waiting.peek().delivery().readAtNanos();
    }

    /** The next request: as much as the settings allow, and at least one operation. */
    Bulk cut(long nowNanos) {
        boolean isPartial = !isFull();
        Bulk bulk = new Bulk(index);
        if (parking != null) {
            parking = parking.probed();
            bulk.setProbe();
        }
        int most = flushed > 0 ? Math.min(flushed, settings.batchSize()) : settings.batchSize();
        do {
            Operation operation = waiting.poll();
            bytes -= operation.bodyBytes();
            bulk.add(operation);
        } while (!waiting.isEmpty()
                && bulk.size() < most
                && bulk.bodyBytes() + waiting.peek().bodyBytes() <= settings.bulkSizeBytes());
        flushed = Math.max(0, flushed - bulk.size());
        sinceNanos = nowNanos;
        bulk.setPartial(isPartial);
        partialsInFlight += isPartial ? 1 : 0;
        return bulk;
    }

    void partialAnswered() {
        partialsInFlight--;
    }

    /** Removes and returns the operations whose partition was revoked. */
    List<Operation> takeRevoked() {
        List<Operation> revoked = new ArrayList<>();
        for (Operation operation : waiting) {
            if (operation.delivery().isRevoked()) {
                revoked.add(operation);
                bytes -= operation.bodyBytes();
            }
        }
        if (!revoked.isEmpty()) {
            waiting.removeIf(operation -> operation.delivery().isRevoked());
            flushed = Math.min(flushed, waiting.size());
        }
        return revoked;
    }
}
