package io.sluice.connect.time;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Real time, with one thread for the calls that come later. */
public final class TaskTimers implements Timers {
    private final ScheduledThreadPoolExecutor executor;

    public TaskTimers(String threadName) {
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
    public void pause(Object monitor, long longestMs) throws InterruptedException {
        monitor.wait(longestMs);
    }

    @Override
    public void close() {
        executor.shutdownNow();
    }
}
