package io.sluice.connect.offset;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Some consecutive records of one partition in the order they were read: their offsets, and which are decided.
 *
 * <p>Records are added and looked at by the task's thread only; any thread may decide them, without a lock, because
 * every record is decided once by one thread while the task goes on reading.
 */
final class Stretch {
    private static final int RECORDS = 1024;

    private final long[] offsets = new long[RECORDS];
    private final AtomicLongArray decidedBits = new AtomicLongArray(RECORDS / Long.SIZE);
    private int size;
    private int decidedFromStart;

    boolean isFull() {
        return size == RECORDS;
    }

    void add(long offset) {
        offsets[size] = offset;
        size++;
    }

    /** The place of the record added last, by which it is decided. */
    int lastPlace() {
        return size - 1;
    }

    /** Notes that a record needs nothing more. */
    void decide(int place) {
        long bit = 1L << place;
        long before = decidedBits.getAndAccumulate(place / Long.SIZE, bit, (bits, added) -> bits | added);
        if ((before & bit) != 0) {
            throw new IllegalStateException("record decided twice: offset " + offsets[place]);
        }
    }

    /** Whether every record added so far is decided. */
    boolean isAllDecided() {
        while (decidedFromStart < size && isDecided(decidedFromStart)) {
            decidedFromStart++;
        }
        return decidedFromStart == size;
    }

    /** To be asked only while {@link #isAllDecided()} says no. */
    long firstUndecidedOffset() {
        return offsets[decidedFromStart];
    }

    int undecided() {
        int decided = 0;
        for (int word = 0; word < decidedBits.length(); word++) {
            decided += Long.bitCount(decidedBits.get(word));
        }
        return size - decided;
    }

    private boolean isDecided(int place) {
        return (decidedBits.get(place / Long.SIZE) & 1L << place) != 0;
    }
}
