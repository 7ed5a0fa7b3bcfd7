package io.sluice.connect;

import io.sluice.connect.bulk.Timers;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Real time, with one thread for the calls that come later. */
final class TaskTimers implements Timers, AutoCloseable {
    private final ScheduledThreadPoolExecutor executor;

    TaskTimers(String threadName) {
        executor = new ScheduledThreadPoolExecutor(1, call -> {
            Thread thread = new Thread(call, threadName);
            thread.setDaemon(true);
            return thread;
        });
        executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    @Override
    public long nanoTime() {
        return System.nanoTime();
    }

    /** After {@link #close} the call never comes. */
    @Override
    public void after(long delayMs, Runnable call) {
        try {
            executor.schedule(call, delayMs, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException closed) {
            if (!executor.isShutdown()) {
                throw closed;
            }
        }
    }

    @Override
    public void close() {
        executor.shutdownNow();
    }
}
