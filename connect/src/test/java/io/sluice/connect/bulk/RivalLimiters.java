package io.sluice.connect.bulk;

/** What else could find the level, to compare with; the size of requests is left as it is by both. */
final class RivalLimiters {
    private RivalLimiters() {}

    /** One request more for each round answered, half of them after a rejection: RFC 5681's congestion avoidance. */
    static Limiter additiveIncrease(Limits start, int most) {
        return new Limiter() {
            private double inFlight = start.inFlight();
            private long cutAtNanos = Long.MIN_VALUE;

            @Override
            public Limits limits() {
                return new Limits((int) inFlight, start.documents(), start.bytes());
            }

            @Override
            public void answered(Answered answer) {
                inFlight = answer.heldBack() ? Math.min(most, inFlight + 1 / inFlight) : inFlight;
            }

            @Override
            public void overloaded(long sentAtNanos, long nowNanos) {
                if (sentAtNanos >= cutAtNanos) {
                    inFlight = Math.max(1, inFlight / 2);
                    cutAtNanos = nowNanos;
                }
            }
        };
    }

    /**
     * The gradient of latency: the long-term mean over the last one, with a tolerance of 1.5 and a queue of 4.
     *
     * <p>Source: the description of Gradient2 in Netflix's concurrency-limits; rejections halve, which it leaves open.
     */
    static Limiter gradient(Limits start, int most) {
        return new Limiter() {
            private double inFlight = start.inFlight();
            private double meanNanos;
            private long cutAtNanos = Long.MIN_VALUE;

            @Override
            public Limits limits() {
                return new Limits((int) inFlight, start.documents(), start.bytes());
            }

            @Override
            public void answered(Answered answer) {
                double nanos = answer.nowNanos() - answer.sentAtNanos();
                meanNanos = meanNanos == 0 ? nanos : meanNanos + (nanos - meanNanos) / 300;
                meanNanos = meanNanos > 2 * nanos ? 0.95 * meanNanos : meanNanos;
                double gradient = Math.max(0.5, Math.min(1, 1.5 * meanNanos / nanos));
                double next = 0.8 * inFlight + 0.2 * (inFlight * gradient + 4);
                inFlight = answer.heldBack() ? Math.max(1, Math.min(most, next)) : inFlight;
            }

            @Override
            public void overloaded(long sentAtNanos, long nowNanos) {
                if (sentAtNanos >= cutAtNanos) {
                    inFlight = Math.max(1, inFlight / 2);
                    cutAtNanos = nowNanos;
                }
            }
        };
    }
}
