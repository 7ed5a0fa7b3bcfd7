package io.sluice.connect.bulk;

import java.util.function.DoubleSupplier;

/**
 * Waits before attempts: capped exponential with full jitter.
 *
 * <p>Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
 *
 * @param random uniform in [0, 1)
 */
public record Backoff(long baseMs, long capMs, DoubleSupplier random) {
    private static final int MOST_DOUBLINGS = 30;

    /** Milliseconds to wait before attempt {@code attempt}, 1 being the first repetition. */
    long delayMs(int attempt) {
        long ceiling = Math.min(capMs, baseMs << Math.min(attempt - 1, MOST_DOUBLINGS));
        return (long) (random.getAsDouble() * ceiling);
    }
}
