package io.sluice.connect.time;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Real time, with one thread for the calls that come later. */
public final class TaskTimers implements Timers {
    private final ScheduledThreadPoolExecutor executor;
    private final Consumer<Throwable> onFailure;

    /** @param onFailure hears what a call throws, which nobody else would */
    public TaskTimers(String threadName, Consumer<Throwable> onFailure) {
        this.onFailure = onFailure;
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
            executor.schedule(() -> guarded(call), delayMs, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException closed) {
            if (!executor.isShutdown()) {
                throw closed;
            }
        }
    }

    private void guarded(Runnable call) {
        try {
            call.run();
        } catch (RuntimeException | Error failure) {
            onFailure.accept(failure);
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
