package io.sluice.connect.offset;

import io.sluice.connect.metrics.PartitionLedger;

/**
 * The records of one partition that are not yet decided, in the order they were read.
 *
 * <p>Each record read gets the next sequence number. A ring holds, for every sequence number from the first undecided
 * one on, the record's offset and whether it is decided; gaps between offsets (compaction, transactions) cost nothing.
 */
public final class PartitionOffsets {
    private static final int INITIAL_CAPACITY = 1024;

    private final PartitionLedger ledger;
    private long[] offsets = new long[INITIAL_CAPACITY];
    private long[] decidedBits = new long[INITIAL_CAPACITY / Long.SIZE];
    private long firstUndecided;
    private long nextSequence;
    private long nextToRead;
    private int decidedAhead;
    private volatile boolean givenUp;

    /** @param ledger where the partition's records are counted */
    public PartitionOffsets(PartitionLedger ledger) {
        this.ledger = ledger;
    }

    PartitionLedger ledger() {
        return ledger;
    }

    /** Notes that the record at {@code offset} was read; returns its sequence number. */
    public synchronized long read(long offset) {
        if (nextSequence - firstUndecided == offsets.length) {
            grow();
        }
        int slot = slot(nextSequence);
        offsets[slot] = offset;
        decidedBits[slot >>> 6] &= ~(1L << slot);
        nextToRead = offset + 1;
        return nextSequence++;
    }

    /** Notes that the record with this sequence number needs nothing more. */
    public synchronized void decided(long sequence) {
        if (sequence < firstUndecided || sequence >= nextSequence || isDecided(sequence)) {
            throw new IllegalStateException("record decided twice or never read: sequence " + sequence);
        }
        int slot = slot(sequence);
        decidedBits[slot >>> 6] |= 1L << slot;
        decidedAhead++;
        while (firstUndecided < nextSequence && isDecided(firstUndecided)) {
            firstUndecided++;
            decidedAhead--;
        }
    }

    /** The offset to read next after a restart: that of the first undecided record, or the one after the last read. */
    public synchronized long committable() {
        return firstUndecided == nextSequence ? nextToRead : offsets[slot(firstUndecided)];
    }

    /** Notes that this task no longer owns the partition: another one reads again what is undecided here. */
    void giveUp() {
        givenUp = true;
    }

    /** Whether this task no longer owns the partition. */
    boolean isGivenUp() {
        return givenUp;
    }

    /** How many records were read and are not decided. */
    public synchronized long undecided() {
        return nextSequence - firstUndecided - decidedAhead;
    }

    private boolean isDecided(long sequence) {
        int slot = slot(sequence);
        return (decidedBits[slot >>> 6] & 1L << slot) != 0;
    }

    private int slot(long sequence) {
        return (int) sequence & offsets.length - 1;
    }

    private void grow() {
        long[] olderOffsets = offsets;
        long[] olderBits = decidedBits;
        int capacity = olderOffsets.length;
        offsets = new long[2 * capacity];
        decidedBits = new long[2 * capacity / Long.SIZE];
        for (long sequence = firstUndecided; sequence < nextSequence; sequence++) {
            int from = (int) sequence & capacity - 1;
            int to = slot(sequence);
            offsets[to] = olderOffsets[from];
            if ((olderBits[from >>> 6] & 1L << from) != 0) {
                decidedBits[to >>> 6] |= 1L << to;
            }
        }
    }
}
