package io.sluice.connect.bulk;

import java.util.EnumMap;
import java.util.Map;

/**
 * Limits that find their own level between a floor and what the settings allow.
 *
 * <p>What is maximised is what counts, the work that the cluster gets done per second, by experiments as in PCC: the
 * number of requests under way, or their size, is tried a step higher or lower against the present one, in turns, and
 * kept if it is better twice. A step that won is followed by a longer one in the same direction; one that lost is left
 * alone for a while, longer each time. Latency is no signal: larger requests take longer and a queue of one's own does
 * too, neither of which makes a cluster slower. Rates while nothing waits behind the limits say nothing and change
 * nothing.
 *
 * <p>A rejection or a timeout halves the requests under way (at one request, their size), once for those that were sent
 * under the same limits, as in TCP. Answered requests double them again, up to a step below where they were rejected.
 * Beyond that only experiments lead; one that is rejected is over, and nothing is halved for it. While nothing but
 * repetitions is rejected, as in an outage, the limits stay, so that the full rate is back with the cluster.
 *
 * <p>Sources: M. Dong and others, "PCC: Re-architecting Congestion Control for Consistent High Performance", NSDI 2015
 * (experiments in counterbalanced pairs, growing steps); RFC 5681, "TCP Congestion Control", 2009 (multiplicative
 * decrease, doubling up to a threshold). Not thread-safe; time is what the calls say.
 */
final class AdaptiveLimits implements Limiter {
    static final Limits START = new Limits(5, 5_000, 5L << 20);
    private static final Limits FLOOR = new Limits(1, 50, 256L << 10);
    private static final double GROWTH = 1.5;
    private static final int FIRST_STRIDE = 2;
    private static final long SHORTEST_WINDOW_NANOS = 500_000_000L;
    private static final long LONGEST_WINDOW_NANOS = 4_000_000_000L;
    private static final long SHORTEST_PAUSE_NANOS = 1_000_000_000L;
    private static final long LONGEST_PAUSE_NANOS = 30_000_000_000L;

    /** What an experiment changes. */
    private enum Step {
        MORE_REQUESTS,
        LARGER_REQUESTS,
        FEWER_REQUESTS,
        SMALLER_REQUESTS;

        boolean isMore() {
            return this == MORE_REQUESTS || this == LARGER_REQUESTS;
        }

        Step next() {
            return values()[(ordinal() + 1) % values().length];
        }
    }

    /** How long something is left alone: longer each time, until it succeeds. */
    private static final class Pause {
        private long nextNanos = SHORTEST_PAUSE_NANOS;
        private long untilNanos = Long.MIN_VALUE;

        void begin(long nowNanos) {
            untilNanos = nowNanos + nextNanos;
            nextNanos = Math.min(LONGEST_PAUSE_NANOS, 2 * nextNanos);
        }

        void reset() {
            nextNanos = SHORTEST_PAUSE_NANOS;
            untilNanos = Long.MIN_VALUE;
        }

        boolean isOver(long nowNanos) {
            return nowNanos >= untilNanos;
        }
    }

    private final Limits most;
    private final Map<Step, Pause> pauses = new EnumMap<>(Step.class);
    private Limits limits;
    private long changedAtNanos = Long.MIN_VALUE;

    /** Where doubling ends. */
    private Limits goal;

    private int answersSinceChange;
    private long cutAtNanos = Long.MIN_VALUE;

    /** Without it a cut says nothing on the level before it: nothing may be accepted at all, as in an outage. */
    private boolean acceptedSinceCut = true;

    private Trial trial;
    private Step step = Step.MORE_REQUESTS;
    private int stride = FIRST_STRIDE;

    /** @param most what the settings allow */
    AdaptiveLimits(Limits most) {
        this.most = most;
        this.limits = within(START);
        this.goal = limits;
        for (Step each : Step.values()) {
            pauses.put(each, new Pause());
        }
    }

    @Override
    public Limits limits() {
        return trial == null ? limits : trial.limits();
    }

    @Override
    public void answered(Answered answer) {
        long now = answer.nowNanos();
        answersSinceChange += answer.sentAtNanos() >= changedAtNanos ? 1 : 0;
        acceptedSinceCut |= answer.sentAtNanos() >= cutAtNanos;
        if (trial != null) {
            Trial.State state = trial.answered(answer);
            if (state != Trial.State.RUNNING) {
                concluded(state, now);
            }
        } else if (!limits.equals(goal)) {
            recover(answer);
        } else {
            experiment(now);
        }
    }

    private void recover(Answered answer) {
        if (answersSinceChange >= limits.inFlight()) {
            set(smaller(scaled(limits, 2, 2), goal), answer.nowNanos());
        }
    }

    private void experiment(long nowNanos) {
        for (int i = 0; i < Step.values().length; i++) {
            Limits other = after(step);
            if (pauses.get(step).isOver(nowNanos) && !other.equals(limits)) {
                trial = new Trial(limits, other, changedAtNanos, windowNanos(step));
                return;
            }
            nextStep();
        }
    }

    /** Long gains show at once; what has lost before, or would give something up, is measured longer. */
    private long windowNanos(Step tried) {
        long least = tried.isMore() ? SHORTEST_WINDOW_NANOS : LONGEST_WINDOW_NANOS / 2;
        return Math.max(least, Math.min(LONGEST_WINDOW_NANOS, pauses.get(tried).nextNanos / 2));
    }

    private void nextStep() {
        step = step.next();
        stride = 1;
    }

    private void concluded(Trial.State state, long nowNanos) {
        Limits other = after(step);
        trial = null;
        switch (state) {
            case WON -> {
                set(other, nowNanos);
                goal = other;
                stride = 2 * stride;
                pauses.get(step).reset();
            }
            case LOST -> {
                pauses.get(step).begin(nowNanos);
                nextStep();
                changedAtNanos = nowNanos;
            }
            default -> failed(nowNanos);
        }
    }

    private static int stepOf(int inFlight) {
        return Math.max(1, inFlight / 4);
    }

    private Limits after(Step tried) {
        int requests = stepOf(limits.inFlight()) * stride;
        double factor = Math.pow(GROWTH, stride);
        return switch (tried) {
            case MORE_REQUESTS -> within(new Limits(limits.inFlight() + requests, limits.documents(), limits.bytes()));
            case FEWER_REQUESTS -> within(new Limits(limits.inFlight() - requests, limits.documents(), limits.bytes()));
            case LARGER_REQUESTS -> scaled(limits, 1, factor);
            case SMALLER_REQUESTS -> scaled(limits, 1, 1 / factor);
        };
    }

    @Override
    public void overloaded(long sentAtNanos, long nowNanos) {
        if (trial != null && step.isMore() && !trial.limits().equals(limits)) {
            pauses.get(step).begin(nowNanos);
            nextStep();
            failed(nowNanos);
        } else if (sentAtNanos >= changedAtNanos) {
            trial = null;
            cut(nowNanos);
        }
    }

    private void cut(long nowNanos) {
        boolean isOne = limits.inFlight() == 1;
        pauses.get(isOne ? Step.LARGER_REQUESTS : Step.MORE_REQUESTS).begin(nowNanos);
        if (acceptedSinceCut) {
            goal = isOne
                    ? scaled(limits, 1, 1 / GROWTH)
                    : new Limits(limits.inFlight() - stepOf(limits.inFlight()), goal.documents(), goal.bytes());
        }
        acceptedSinceCut = false;
        cutAtNanos = nowNanos;
        set(scaled(limits, 0.5, isOne ? 0.5 : 1), nowNanos);
    }

    @Override
    public void failed(long nowNanos) {
        trial = null;
        changedAtNanos = nowNanos;
    }

    private void set(Limits next, long nowNanos) {
        limits = next;
        changedAtNanos = nowNanos;
        answersSinceChange = 0;
    }

    private Limits scaled(Limits from, double requests, double size) {
        return within(new Limits(
                (int) (from.inFlight() * requests),
                (int) Math.round(from.documents() * size),
                Math.round(from.bytes() * size)));
    }

    private static Limits smaller(Limits a, Limits b) {
        return new Limits(
                Math.min(a.inFlight(), b.inFlight()),
                Math.min(a.documents(), b.documents()),
                Math.min(a.bytes(), b.bytes()));
    }

    /** The floor counts for no more than the settings allow. */
    private Limits within(Limits wanted) {
        return new Limits(
                Math.min(most.inFlight(), Math.max(FLOOR.inFlight(), wanted.inFlight())),
                Math.min(most.documents(), Math.max(FLOOR.documents(), wanted.documents())),
                Math.min(most.bytes(), Math.max(FLOOR.bytes(), wanted.bytes())));
    }
}
