package io.sluice.connect.time;

/** Time as a task sees it: a monotonic clock, waiting, and one thread for calls that come later. */
public interface Timers extends AutoCloseable {
    long nanoTime();

    /** Calls it after so long on a thread of its own; after {@link #close} the call never comes. */
    void after(long delayMs, Runnable call);

    /** Waits until the monitor, which the caller holds, is notified, at most so long. */
    void pause(Object monitor, long longestMs) throws InterruptedException;

    @Override
    void close();
}
