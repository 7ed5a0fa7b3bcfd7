package io.sluice.connect.bulk;

/**
 * Work per second while the limits stay as they are.
 *
 * <p>It opens with the first answer to a request that was sent under these limits. It closes after whole rounds of
 * answers, as many in each as may be under way: requests that run side by side tend to be answered together, and part
 * of such a group would count as a change of rate.
 */
final class Window {
    private static final int FEWEST_ROUNDS = 4;
    private static final int FEWEST_ANSWERS = 16;
    private static final double LEAST_IN_USE = 0.8;

    private final Limits limits;
    private final long sinceNanos;
    private final long shortestNanos;
    private boolean open;
    private long openedAtNanos;
    private long closedAtNanos;
    private long work;
    private int answers;
    private int heldBack;
    private int full;

    Window(Limits limits, long sinceNanos, long shortestNanos) {
        this.limits = limits;
        this.sinceNanos = sinceNanos;
        this.shortestNanos = shortestNanos;
    }

    Limits limits() {
        return limits;
    }

    /** Returns whether this answer closes the window. */
    boolean add(Answered answer) {
        if (!open) {
            open = answer.sentAtNanos() >= sinceNanos;
            openedAtNanos = answer.nowNanos();
            return false;
        }
        answers++;
        work += answer.work();
        heldBack += answer.heldBack() ? 1 : 0;
        full += answer.full() ? 1 : 0;
        closedAtNanos = answer.nowNanos();
        return answers % limits.inFlight() == 0
                && answers >= Math.max(FEWEST_ANSWERS, FEWEST_ROUNDS * limits.inFlight())
                && closedAtNanos - openedAtNanos >= shortestNanos;
    }

    /** Whether more waited behind the limits almost all the time: otherwise the rate is the source's, not the cluster's. */
    boolean isInUse() {
        return heldBack >= LEAST_IN_USE * answers;
    }

    /** Whether the requests were as large as the limits allow, almost all of them. */
    boolean isOfFullRequests() {
        return full >= LEAST_IN_USE * answers;
    }

    double workPerSecond() {
        return work * 1e9 / Math.max(1, closedAtNanos - openedAtNanos);
    }
}
