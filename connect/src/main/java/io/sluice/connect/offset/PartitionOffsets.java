package io.sluice.connect.offset;

import io.sluice.connect.metrics.PartitionLedger;
import java.util.ArrayDeque;

/**
 * The records of one partition that are not yet completed, in the order they were read.
 *
 * <p>Used by the task's thread only; records are completed in their {@link Stretch}, by any thread. Gaps between offsets (compaction, transactions)
 * cost nothing.
 */
public final class PartitionOffsets {
    private final PartitionLedger ledger;
    private final PartitionEnd end = new PartitionEnd();
    private final ArrayDeque<Stretch> stretches = new ArrayDeque<>();
    private long nextToRead;
    private volatile boolean revoked;

    /** @param ledger where the partition's records are counted */
    public PartitionOffsets(PartitionLedger ledger) {
        this.ledger = ledger;
        stretches.add(new Stretch());
    }

    PartitionLedger ledger() {
        return ledger;
    }

    PartitionEnd end() {
        return end;
    }

    /** Notes that the record at {@code offset} was read; returns the stretch whose last place is the record's. */
    Stretch read(long offset) {
        if (stretches.getLast().isFull()) {
            forgetCompleted();
            stretches.add(new Stretch());
        }
        Stretch last = stretches.getLast();
        last.add(offset);
        nextToRead = offset + 1;
        end.read(offset);
        return last;
    }

    private void forgetCompleted() {
        while (stretches.size() > 1 && stretches.getFirst().isAllCompleted()) {
            stretches.removeFirst();
        }
    }

    /** The offset to read next after a restart: that of the first incomplete record, or the one after the last read. */
    public long committable() {
        forgetCompleted();
        Stretch first = stretches.getFirst();
        return first.isAllCompleted() ? nextToRead : first.firstIncompleteOffset();
    }

    /** Notes that this task no longer owns the partition: another one reads again what is incomplete here. */
    void revoke() {
        revoked = true;
    }

    /** Whether this task no longer owns the partition. */
    boolean isRevoked() {
        return revoked;
    }

    /** How many records were read and are not completed. */
    long incomplete() {
        return stretches.stream().mapToLong(Stretch::incomplete).sum();
    }
}
