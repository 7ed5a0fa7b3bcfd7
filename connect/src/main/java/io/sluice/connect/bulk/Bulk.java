package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/** The operations of one bulk request, all for one index, where it stands, and the history of its attempts. */
final class Bulk {
    /** Where a request stands; it has a permit all the while. */
    enum State {
        /** It is sent as soon as its time has come. */
        WAITING,
        /** It failed, and is sent again as soon as its time has come. */
        REPEATED,
        /** Handed to the client, which has not answered. */
        ON_THE_WIRE,
        /** The answer, or that none will come, is being dealt with. */
        ANSWERED,
        /** Each of its operations is completed or revoked. */
        DONE
    }

    private final String index;
    private List<Operation> operations;
    private long bodyBytes;
    private long oldestReadAtNanos;
    private String host = "";
    /** The id of the node that holds the primaries of all its shards, empty where there is none, or it is not known. */
    private String node = "";

    private boolean oneOfSeveral;

    private boolean partial;
    private boolean probe;
    private State state = State.WAITING;
    private Attempts attempts = Attempts.NONE;
    private long sentAtNanos;
    private OptionalLong refusedAtNanos = OptionalLong.empty();

    Bulk(String index) {
        this(index, new ArrayList<>());
    }

    Bulk(String index, List<Operation> operations) {
        this.index = index;
        keep(operations);
    }

    private void keep(List<Operation> kept) {
        operations = kept;
        bodyBytes = 0;
        oldestReadAtNanos = Long.MAX_VALUE;
        kept.forEach(this::count);
    }

    void add(Operation operation) {
        operations.add(operation);
        count(operation);
    }

    /** The operations of several shards stand in no order of time. */
    private void count(Operation operation) {
        bodyBytes += operation.bodyBytes();
        oldestReadAtNanos = Math.min(oldestReadAtNanos, operation.delivery().readAtNanos());
    }

    String index() {
        return index;
    }

    List<Operation> operations() {
        return operations;
    }

    int size() {
        return operations.size();
    }

    long bodyBytes() {
        return bodyBytes;
    }

    long oldestReadAtNanos() {
        return oldestReadAtNanos;
    }

    /** Whether it is the only one for a target that could not be served, sent to see whether that is over. */
    boolean isProbe() {
        return probe;
    }

    void setProbe() {
        probe = true;
    }

    /** The id of the node that holds the primaries of all its shards, empty where there is none, or it is not known. */
    String node() {
        return node;
    }

    void setNode(String ofAll) {
        node = ofAll;
    }

    /** Whether more waited for its index than it could hold. */
    boolean isOneOfSeveral() {
        return oneOfSeveral;
    }

    void setOneOfSeveral() {
        oneOfSeveral = true;
    }

    /** Whether it was sent before it was full. */
    boolean isPartial() {
        return partial;
    }

    void setPartial(boolean sentBeforeFull) {
        partial = sentBeforeFull;
    }

    /** Who answered last, or may have: {@code host:port}. */
    String host() {
        return host;
    }

    void setHost(String whoAnswered) {
        host = whoAnswered;
    }

    boolean isWaiting() {
        return state == State.WAITING || state == State.REPEATED;
    }

    boolean isRepeated() {
        return state == State.REPEATED;
    }

    boolean isOnTheWire() {
        return state == State.ON_THE_WIRE;
    }

    boolean isDone() {
        return state == State.DONE;
    }

    /** How often it was sent since some of its operations were completed. */
    int attempts() {
        return attempts.sent();
    }

    long sentAtNanos() {
        return sentAtNanos;
    }

    void sent(long nowNanos) {
        state = State.ON_THE_WIRE;
        attempts = attempts.andSent();
        sentAtNanos = nowNanos;
    }

    void answered() {
        state = State.ANSWERED;
    }

    void waiting() {
        state = State.REPEATED;
    }

    void done() {
        state = State.DONE;
    }

    /** Notes when it, or the request it is a part of, was refused for the first time because of one of its documents. */
    void refused(long nowNanos) {
        refusedAtNanos = OptionalLong.of(refusedAtNanos.orElse(nowNanos));
    }

    /** To be asked only after it was refused. */
    long refusedAtNanos() {
        return refusedAtNanos.getAsLong();
    }

    /** Counts a failure that waiting alone may not cure; returns how many there were. */
    int countAttempt() {
        attempts = attempts.andCounted();
        return attempts.counted();
    }

    /** Counts a failure of the whole request, though a node was there; returns how many there were in a row. */
    int countFailure() {
        attempts = attempts.andFailure();
        return attempts.failures();
    }

    int failures() {
        return attempts.failures();
    }

    /** Nanoseconds since the first failure after the last progress. */
    long failingForNanos(long nowNanos) {
        attempts = attempts.andFailed(nowNanos);
        return nowNanos - attempts.failingSinceNanos().getAsLong();
    }

    /** Keeps only these operations; fewer than before are progress, from which patience starts afresh. */
    void keepOnly(List<Operation> remaining) {
        if (remaining.size() < operations.size()) {
            attempts = attempts.andProgressed();
        }
        keep(remaining);
    }

    /** Whether an operation is of a partition that was revoked. */
    boolean hasRevoked() {
        return operations.stream().anyMatch(operation -> operation.delivery().isRevoked());
    }

    /** Removes and returns the operations whose partition was revoked. */
    List<Operation> takeRevoked() {
        List<Operation> revoked = new ArrayList<>(0);
        if (hasRevoked()) {
            List<Operation> kept = new ArrayList<>(operations.size());
            operations.forEach(operation -> (operation.delivery().isRevoked() ? revoked : kept).add(operation));
            keep(kept);
        }
        return revoked;
    }

    /** The second half of the operations, which this request loses. */
    Bulk splitOff() {
        int half = (operations.size() + 1) / 2;
        Bulk second = new Bulk(index, new ArrayList<>(operations.subList(half, operations.size())));
        attempts = attempts.andHalved();
        second.attempts = attempts;
        second.node = node;
        second.refusedAtNanos = refusedAtNanos;
        keep(new ArrayList<>(operations.subList(0, half)));
        return second;
    }
}
