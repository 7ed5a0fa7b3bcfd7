package io.sluice.connect.bulk;

/**
 * Compares two settings by what the cluster gets done: base, other, other, base.
 *
 * <p>In this order a steady drift of the cluster's speed cancels out, and one sudden change spoils one pair only. The
 * other setting wins when both pairs say so; the first pair that does not ends the trial.
 */
final class Trial {
    /** What is known of a trial after an answer. */
    enum State {
        RUNNING,
        WON,
        LOST,
        /** The limits were not what limited the rate: nothing can be said. */
        VOID
    }

    /** A change has to gain this much in both pairs; less is noise, and where the rate is flat nothing should move. */
    private static final double LEAST_GAIN = 1.01;

    private final Limits base;
    private final Limits other;
    private final boolean concernsSize;
    private final long windowNanos;
    private final double[] rates = new double[4];
    private int windows;
    private Window window;

    Trial(Limits base, Limits other, long sinceNanos, long windowNanos) {
        this.base = base;
        this.other = other;
        this.concernsSize = base.inFlight() == other.inFlight();
        this.window = new Window(base, sinceNanos, windowNanos);
        this.windowNanos = windowNanos;
    }

    /** What is to be used now. */
    Limits limits() {
        return window.limits();
    }

    State answered(Answered answer) {
        if (!window.add(answer)) {
            return State.RUNNING;
        }
        if (!window.isInUse() || concernsSize && !window.isOfFullRequests()) {
            return State.VOID;
        }
        rates[windows++] = window.workPerSecond();
        if (windows == 2 && rates[1] < LEAST_GAIN * rates[0]) {
            return State.LOST;
        }
        if (windows == rates.length) {
            return rates[2] < LEAST_GAIN * rates[3] ? State.LOST : State.WON;
        }
        nextWindow(answer.nowNanos());
        return State.RUNNING;
    }

    private void nextWindow(long nowNanos) {
        boolean isOther = windows == 1 || windows == 2;
        Limits next = isOther ? other : base;
        // Where nothing changes there is nothing to wait for: requests under way were sent under the same limits.
        window = new Window(next, next.equals(window.limits()) ? Long.MIN_VALUE : nowNanos, windowNanos);
    }
}
