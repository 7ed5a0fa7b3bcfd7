package io.sluice.connect.time;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TaskTimersTest {
    /** What a call throws is told, errors included, and the calls after it still come. */
    @Test
    void whatACallThrowsIsTold() throws InterruptedException {
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        try (TaskTimers timers = new TaskTimers("t", failure -> events.add(failure.getMessage()))) {
            timers.after(0, () -> {
                throw new IllegalStateException("first");
            });
            timers.after(0, () -> {
                throw new StackOverflowError("second");
            });
            timers.after(0, () -> events.add("third"));
            for (String expected : List.of("first", "second", "third")) {
                assertEquals(expected, events.poll(20, TimeUnit.SECONDS));
            }
        }
    }

    /** After it was closed no call comes, and asking for one is no failure. */
    @Test
    void noCallComesAfterTheEnd() {
        List<String> calls = new java.util.concurrent.CopyOnWriteArrayList<>();
        TaskTimers timers = new TaskTimers("t", failure -> {});
        timers.close();
        timers.after(0, () -> calls.add("late"));
        assertTrue(calls.isEmpty());
    }
}
