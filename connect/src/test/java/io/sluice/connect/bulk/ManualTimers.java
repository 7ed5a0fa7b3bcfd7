package io.sluice.connect.bulk;

import java.util.Comparator;
import java.util.PriorityQueue;

/** Time that moves when a test says so. */
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
}
