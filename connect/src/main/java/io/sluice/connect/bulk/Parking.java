package io.sluice.connect.bulk;

import java.util.concurrent.TimeUnit;

/**
 * How long a target has not been served, and when it is tried next.
 *
 * @param tries how often it was found that it cannot be served
 * @param isProbed whether a request is in flight that is to find out
 */
record Parking(long sinceNanos, int tries, long untilNanos, boolean isProbed) {
    static Parking since(long nowNanos) {
        return new Parking(nowNanos, 0, nowNanos, false);
    }

    /** It was tried in vain. */
    Parking again(long nowNanos, Backoff backoff) {
        long delayMs = Math.max(1, backoff.delayMs(tries + 1));
        return new Parking(sinceNanos, tries + 1, nowNanos + TimeUnit.MILLISECONDS.toNanos(delayMs), false);
    }

    Parking notProbed() {
        return new Parking(sinceNanos, tries, untilNanos, false);
    }

    Parking probed() {
        return new Parking(sinceNanos, tries, untilNanos, true);
    }

    /** Milliseconds until it is tried again. */
    long remainingMs(long nowNanos) {
        return TimeUnit.NANOSECONDS.toMillis(untilNanos - nowNanos);
    }
}
