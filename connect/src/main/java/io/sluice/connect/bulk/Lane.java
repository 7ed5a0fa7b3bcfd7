package io.sluice.connect.bulk;

import io.sluice.connect.config.RequestSettings;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.shard.ShardTable;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** What waits to be sent to one index, and when the next request for it may go. */
final class Lane {
    private final String index;
    private final RequestSettings settings;
    private final Waiting waiting = new Waiting();
    private long sinceNanos;
    private boolean isFlushed;
    /** What was read up to then waits for no more; of meaning only while flushed. */
    private long flushedUntilNanos;

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

    /** Takes an operation, and what is known now of the index's shards. */
    void add(Operation operation, ShardTable shards) {
        waiting.know(shards);
        waiting.add(operation);
    }

    /**
     * Keeps back what is for this target, which cannot be served; a request is sent now and then to see whether it can.
     *
     * @param bulk the request that failed, whose operations go back to where they came from
     * @return whether it was served until now
     */
    boolean park(Bulk bulk, long nowNanos, Backoff backoff) {
        bulk.operations().forEach(Operation::forgetAttempts);
        waiting.addFirst(bulk.operations());
        isFlushed = false;
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
        return parking == null ? List.of() : waiting.all();
    }

    /** Lets what waits now be sent without waiting for more. */
    void flush(long nowNanos) {
        isFlushed = true;
        flushedUntilNanos = nowNanos;
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    boolean isFull() {
        return waiting.size() >= settings.batchSize() || waiting.bytes() >= settings.bulkSizeBytes() || isAnyFlushed();
    }

    private boolean isAnyFlushed() {
        return isFlushed && !waiting.isEmpty() && oldestReadAtNanos() - flushedUntilNanos <= 0;
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
        return waiting.oldestReadAtNanos();
    }

    /** The next request: as much as the settings allow, and at least one operation. */
    Bulk cut(long nowNanos) {
        boolean isPartial = !isFull();
        Bulk bulk = new Bulk(index);
        if (parking != null) {
            parking = parking.probed();
            bulk.setProbe();
        }
        waiting.moveInto(bulk, settings.batchSize(), settings.bulkSizeBytes());
        isFlushed = isAnyFlushed();
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
        return waiting.take(operation -> operation.delivery().isRevoked());
    }
}
