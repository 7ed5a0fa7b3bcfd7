package io.sluice.connect;

import io.sluice.connect.time.Timers;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** The records this task has read and not completed, bounded in number and bytes. */
final class Backlog {
    /** Not every change that somebody waits for is told here. */
    private static final long LONGEST_NAP_MS = 100;

    private final long maxRecords;
    private final long maxBytes;
    private final Timers timers;
    private long records;
    private long bytes;

    Backlog(long maxRecords, long maxBytes, Timers timers) {
        this.maxRecords = maxRecords;
        this.maxBytes = maxBytes;
        this.timers = timers;
    }

    synchronized void enter(int enteringRecords, long enteringBytes) {
        records += enteringRecords;
        bytes += enteringBytes;
    }

    synchronized void leave(int leavingRecords, long leavingBytes) {
        records -= leavingRecords;
        bytes -= leavingBytes;
        notifyAll();
    }

    synchronized boolean isFull() {
        return records >= maxRecords || bytes >= maxBytes;
    }

    /** Wakes whoever waits, so that he looks again. */
    synchronized void wake() {
        notifyAll();
    }

    /** Waits while {@code condition} holds, at most so long; restores an interrupt and returns at once. */
    synchronized void awaitWhile(BooleanSupplier condition, long timeoutMs) {
        long deadline = timers.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        try {
            while (condition.getAsBoolean()) {
                long remainingMs = TimeUnit.NANOSECONDS.toMillis(deadline - timers.nanoTime());
                if (remainingMs <= 0) {
                    return;
                }
                timers.pause(this, Math.min(remainingMs, LONGEST_NAP_MS));
            }
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }
}
