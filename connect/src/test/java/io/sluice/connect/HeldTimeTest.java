package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class HeldTimeTest {
    private long nowNanos;
    private final HeldTime held = new HeldTime(0);

    private void complete(int records, long afterMs) {
        nowNanos += TimeUnit.MILLISECONDS.toNanos(afterMs);
        held.completed(records, nowNanos);
    }

    /** What gets through in 1.5 s may be held, and never less than 500 records. */
    @Test
    void theRateOfLateIsHeldForASecondAndAHalf() {
        assertEquals(500, held.records());
        complete(1_009, 250);
        complete(991, 250);
        assertEquals(6_000, held.records());
        complete(10, 1_000);
        assertEquals(500, held.records());
    }

    /** A task that starts finds its rate: what it may hold grows until a record takes 1.5 s to get through. */
    @Test
    void whatIsHeldGrowsWithWhatTheClusterTakes() {
        double docsPerSecond = 20_000;
        for (int window = 0; window < 20; window++) {
            double latencyS = Math.max(0.1, held.records() / docsPerSecond);
            complete((int) (held.records() / latencyS / 2), 500);
        }
        assertTrue(held.records() > 0.9 * 1.5 * docsPerSecond, "holds " + held.records());
        assertTrue(held.records() <= 1.5 * docsPerSecond, "holds " + held.records());
    }
}
