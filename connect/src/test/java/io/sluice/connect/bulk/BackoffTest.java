package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class BackoffTest {
    /** The longest wait doubles with each attempt until the cap. */
    @Test
    void theCeilingDoublesUpToTheCap() {
        Backoff backoff = new Backoff(100, 1_500, () -> 1.0);
        long[] delays = IntStream.of(1, 2, 3, 4, 5, 6, 1_000_000)
                .mapToLong(backoff::delayMs)
                .toArray();
        org.junit.jupiter.api.Assertions.assertArrayEquals(
                new long[] {100, 200, 400, 800, 1_500, 1_500, 1_500}, delays);
    }

    /** The wait is drawn from the whole range below the ceiling, zero included. */
    @Test
    void theJitterIsFull() {
        assertEquals(0, new Backoff(100, 1_500, () -> 0.0).delayMs(3));
        assertEquals(100, new Backoff(100, 1_500, () -> 0.25).delayMs(3));
    }
}
