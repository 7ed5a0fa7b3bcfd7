package io.sluice.connect.offset;

import io.sluice.connect.metrics.PartitionLedger;
import java.util.ArrayDeque;

/**
 * The records of one partition that are not yet decided, in the order they were read.
 *
 * <p>Used by the task's thread only; records are decided in their {@link Stretch}, by any thread. Gaps between offsets (compaction, transactions)
 * cost nothing.
 */
public final class PartitionOffsets {
    private final PartitionLedger ledger;
    private final ArrayDeque<Stretch> stretches = new ArrayDeque<>();
    private long nextToRead;
    private volatile boolean givenUp;

    /** @param ledger where the partition's records are counted */
    public PartitionOffsets(PartitionLedger ledger) {
        this.ledger = ledger;
        stretches.add(new Stretch());
    }

    PartitionLedger ledger() {
        return ledger;
    }

    /** Notes that the record at {@code offset} was read; returns the stretch whose last place is the record's. */
    Stretch read(long offset) {
        if (stretches.getLast().isFull()) {
            forgetDecided();
            stretches.add(new Stretch());
        }
        Stretch last = stretches.getLast();
        last.add(offset);
        nextToRead = offset + 1;
        return last;
    }

    private void forgetDecided() {
        while (stretches.size() > 1 && stretches.getFirst().isAllDecided()) {
            stretches.removeFirst();
        }
    }

    /** The offset to read next after a restart: that of the first undecided record, or the one after the last read. */
    public long committable() {
        forgetDecided();
        Stretch first = stretches.getFirst();
        return first.isAllDecided() ? nextToRead : first.firstUndecidedOffset();
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
    long undecided() {
        return stretches.stream().mapToLong(Stretch::undecided).sum();
    }
}
