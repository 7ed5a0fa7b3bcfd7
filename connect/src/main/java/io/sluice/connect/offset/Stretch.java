package io.sluice.connect.offset;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Some consecutive records of one partition in the order they were read: their offsets, and which are completed.
 *
 * <p>Records are added and looked at by the task's thread only; any thread may complete them, without a lock, because
 * every record is completed once by one thread while the task goes on reading.
 */
final class Stretch {
    private static final int RECORDS = 1024;

    private final long[] offsets = new long[RECORDS];
    private final AtomicLongArray completedBits = new AtomicLongArray(RECORDS / Long.SIZE);
    private int size;
    private int completedFromStart;

    boolean isFull() {
        return size == RECORDS;
    }

    void add(long offset) {
        offsets[size] = offset;
        size++;
    }

    /** The place of the record added last, by which it is completed. */
    int lastPlace() {
        return size - 1;
    }

    /** Notes that a record needs nothing more. */
    void complete(int place) {
        long bit = 1L << place;
        long before = completedBits.getAndAccumulate(place / Long.SIZE, bit, (bits, added) -> bits | added);
        if ((before & bit) != 0) {
            throw new IllegalStateException("record completed twice: offset " + offsets[place]);
        }
    }

    /** Whether every record added so far is completed. */
    boolean isAllCompleted() {
        while (completedFromStart < size && isCompleted(completedFromStart)) {
            completedFromStart++;
        }
        return completedFromStart == size;
    }

    /** To be asked only while {@link #isAllCompleted()} says no. */
    long firstIncompleteOffset() {
        return offsets[completedFromStart];
    }

    int incomplete() {
        int completed = 0;
        for (int word = 0; word < completedBits.length(); word++) {
            completed += Long.bitCount(completedBits.get(word));
        }
        return size - completed;
    }

    private boolean isCompleted(int place) {
        return (completedBits.get(place / Long.SIZE) & 1L << place) != 0;
    }
}
