package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import java.util.ArrayList;
import java.util.List;

/** The operations of one bulk request, all for one index, and the history of its attempts. */
final class Bulk {
    private final String index;
    private List<Operation> operations;
    private long bodyBytes;
    private String host = "";
    private boolean partial;
    private int attempts;
    private int sendings;
    private int countedAttempts;
    private long firstFailureAtNanos;
    private long sentAtNanos;

    Bulk(String index) {
        this(index, new ArrayList<>());
    }

    Bulk(String index, List<Operation> operations) {
        this.index = index;
        this.operations = operations;
        operations.forEach(operation -> bodyBytes += operation.bodyBytes());
    }

    void add(Operation operation) {
        operations.add(operation);
        bodyBytes += operation.bodyBytes();
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

    /** Later than any time when all operations were given back. */
    long oldestReadAtNanos() {
        return operations.isEmpty()
                ? Long.MAX_VALUE
                : operations.get(0).delivery().readAtNanos();
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

    int attempts() {
        return attempts;
    }

    long sentAtNanos() {
        return sentAtNanos;
    }

    void sent(long nowNanos) {
        attempts++;
        sendings++;
        sentAtNanos = nowNanos;
    }

    /** Whether it was sent once only, whatever progress there was since. */
    boolean isFirstSending() {
        return sendings == 1;
    }

    int countAttempt() {
        return ++countedAttempts;
    }

    /** Nanoseconds since the first failure after the last progress. */
    long failingForNanos(long nowNanos) {
        if (firstFailureAtNanos == 0) {
            firstFailureAtNanos = nowNanos;
        }
        return nowNanos - firstFailureAtNanos;
    }

    /** Keeps only these operations; fewer than before are progress, from which patience starts afresh. */
    void keepOnly(List<Operation> remaining) {
        if (remaining.size() < operations.size()) {
            firstFailureAtNanos = 0;
            attempts = 0;
        }
        operations = remaining;
        bodyBytes = 0;
        operations.forEach(operation -> bodyBytes += operation.bodyBytes());
    }

    /** Removes and returns the operations whose partition was given up. */
    List<Operation> takeGivenUp() {
        List<Operation> givenUp = new ArrayList<>(0);
        for (Operation operation : operations) {
            if (operation.delivery().isGivenUp()) {
                givenUp.add(operation);
            }
        }
        if (!givenUp.isEmpty()) {
            List<Operation> kept = new ArrayList<>(operations);
            kept.removeIf(operation -> operation.delivery().isGivenUp());
            operations = kept;
            bodyBytes = kept.stream().mapToLong(Operation::bodyBytes).sum();
        }
        return givenUp;
    }

    /** The second half of the operations, which this request loses. */
    Bulk splitOff() {
        int half = (operations.size() + 1) / 2;
        Bulk second = new Bulk(index, new ArrayList<>(operations.subList(half, operations.size())));
        keepOnly(new ArrayList<>(operations.subList(0, half)));
        return second;
    }
}
