package io.sluice.connect.bulk;

/** Time for the writer: a monotonic clock, and calls that come later. */
public interface Timers {
    long nanoTime();

    void after(long delayMs, Runnable call);
}
