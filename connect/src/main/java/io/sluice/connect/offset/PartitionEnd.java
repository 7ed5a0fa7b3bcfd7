package io.sluice.connect.offset;

import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * The end of one partition as far as the consumer has seen it, which tells whether a stored version can be an offset of this
 * partition.
 *
 * <p>Only a sample that was taken some seconds after the version was met says no: who read the partition before, or beside
 * this task, may have seen a later end. Asked by the threads that read answers, sampled by the task's thread.
 */
public final class PartitionEnd {
    static final long LONGEST_DOUBT_NANOS = TimeUnit.SECONDS.toNanos(5);
    static final long VALID_NANOS = TimeUnit.SECONDS.toNanos(60);

    /** Where a version lies. */
    public enum Place {
        /** An offset that the partition may have had, as far as is known. */
        WITHIN,
        BEYOND,
        /** To be asked again after the next sample. */
        UNDECIDED
    }

    private volatile long nextToRead;

    /** As far as samples tell; below it all offsets were handed out. */
    private long end;

    private long sampledNext;
    private long sampledAtNanos;
    private boolean isUnknowable;
    private long highestSuspect = -1;
    private long suspectedAtNanos;
    private OptionalLong confirmedAtNanos = OptionalLong.empty();

    /** Notes that the record at this offset was read. */
    void read(long offset) {
        nextToRead = offset + 1;
    }

    /** Where a version lies that is stored, and higher than that of the record which was to be stored. */
    public synchronized Place placeOf(long version, long nowNanos) {
        boolean isUnknown = isUnknowable && nowNanos - sampledAtNanos < VALID_NANOS;
        if (version < Math.max(end, nextToRead) || isUnknown) {
            return Place.WITHIN;
        }
        if (confirmedAtNanos.isPresent() && nowNanos - confirmedAtNanos.getAsLong() < VALID_NANOS) {
            return Place.BEYOND;
        }
        if (highestSuspect < 0) {
            suspectedAtNanos = nowNanos;
        }
        highestSuspect = Math.max(highestSuspect, version);
        return Place.UNDECIDED;
    }

    /** Whether a sample is wanted. */
    synchronized boolean isAsked() {
        return highestSuspect >= 0;
    }

    /**
     * Takes a sample. A consumer that has gone back reads another topic of the same name.
     *
     * @param next the offset that the consumer reads next
     * @param lag how many there are from there to the end, as far as is known
     */
    synchronized void sampled(long next, OptionalLong lag, long nowNanos) {
        isUnknowable = lag.isEmpty();
        boolean isAnotherTopic = next < sampledNext;
        end = Math.max(isAnotherTopic ? 0 : end, next + lag.orElse(0));
        sampledNext = next;
        sampledAtNanos = nowNanos;
        if (isUnknowable || highestSuspect < end) {
            highestSuspect = -1;
        } else if (nowNanos - suspectedAtNanos >= LONGEST_DOUBT_NANOS) {
            confirmedAtNanos = OptionalLong.of(nowNanos);
            highestSuspect = -1;
        }
    }
}
