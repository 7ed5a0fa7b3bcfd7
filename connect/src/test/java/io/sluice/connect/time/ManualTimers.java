package io.sluice.connect.time;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.function.Consumer;

/** Time that moves when a test says so, or while somebody waits. */
public final class ManualTimers implements Timers {
    private record Call(long atMs, long number, Runnable call) {}

    private final PriorityQueue<Call> calls =
            new PriorityQueue<>(Comparator.comparingLong(Call::atMs).thenComparingLong(Call::number));
    private long nowMs;
    private long numbers;

    @Override
    public long nanoTime() {
        return 1 + nowMs * 1_000_000;
    }

    @Override
    public void after(long delayMs, Runnable call) {
        calls.add(new Call(nowMs + delayMs, numbers++, call));
    }

    public long nowMs() {
        return nowMs;
    }

    public void advance(long ms) {
        long until = nowMs + ms;
        while (!calls.isEmpty() && calls.peek().atMs() <= until) {
            nowMs = calls.peek().atMs();
            calls.poll().call().run();
        }
        nowMs = until;
    }

    /** Moves on to the next call, which may be what the caller waits for. */
    @Override
    public void pause(Object monitor, long longestMs) {
        long nextMs =
                calls.isEmpty() ? Long.MAX_VALUE : Math.max(1, calls.peek().atMs() - nowMs);
        advance(Math.min(longestMs, nextMs));
    }

    /** The same time for one thread of many: once that has ended, its calls never come; what they throw is told. */
    public Timers thread(Consumer<Throwable> onFailure) {
        return new Timers() {
            private boolean closed;

            @Override
            public long nanoTime() {
                return ManualTimers.this.nanoTime();
            }

            @Override
            public void after(long delayMs, Runnable call) {
                ManualTimers.this.after(delayMs, () -> {
                    if (!closed) {
                        try {
                            call.run();
                        } catch (RuntimeException thrown) {
                            onFailure.accept(thrown);
                        }
                    }
                });
            }

            @Override
            public void pause(Object monitor, long longestMs) {
                ManualTimers.this.pause(monitor, longestMs);
            }

            @Override
            public void close() {
                closed = true;
            }
        };
    }

    @Override
    public void close() {
        calls.clear();
    }
}
