package io.sluice.connect.bulk;

import java.util.PriorityQueue;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;

/**
 * A sink with more to send than any cluster takes, and a cluster: some servers behind one queue, in virtual time.
 *
 * <p>A request takes a server for a time of its own, of each document and of each byte, which varies from request to
 * request and, for all of them together, from half second to half second. Over a number of requests the cluster rejects.
 */
final class SimulatedCluster {
    private static final long NANOS_PER_MS = 1_000_000L;
    private static final long SPELL_MS = 500;

    /** What a cluster is like; the cluster as a whole may change with time. */
    record Nature(int servers, double msPerRequest, double msPerDocument, double msPerMegabyte, long documentBytes) {
        static final Nature TWO_SERVERS = new Nature(2, 1, 0.04, 0, 800);
        static final Nature EIGHT_SERVERS = new Nature(8, 1, 0.04, 0, 800);
        static final Nature SIXTEEN_SERVERS = new Nature(16, 1, 0.04, 0, 800);
        static final Nature SLOW_SERVER = new Nature(1, 5, 0.4, 0, 800);
        static final Nature COSTLY_REQUESTS = new Nature(2, 40, 0.01, 0, 200);
        static final Nature VERY_COSTLY_REQUESTS = new Nature(2, 200, 0.01, 0, 200);
        static final Nature LARGE_DOCUMENTS = new Nature(2, 2, 0.05, 20, 1 << 20);
    }

    private record Event(long atNanos, long number, Runnable happens) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            return atNanos == other.atNanos ? Long.compare(number, other.number) : Long.compare(atNanos, other.atNanos);
        }
    }

    private final Nature nature;
    private final Limiter limiter;
    private final Random random;
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private final TreeMap<Long, Double> spells = new TreeMap<>();
    private final long[] freeAtNanos;
    private final TreeMap<Long, Long> documentsBySecond = new TreeMap<>();
    private LongUnaryOperator mostAtSecond = second -> Long.MAX_VALUE;
    private LongUnaryOperator slownessAtSecond = second -> 1;
    private double offeredPerSecond = Double.MAX_VALUE;
    private long offeredTaken;
    private long nowNanos;
    private long numbers;
    private int underWay;
    private int inCluster;
    private long rejections;
    private int mostUnderWay;

    SimulatedCluster(Nature nature, Limiter limiter, int seed) {
        this.nature = nature;
        this.limiter = limiter;
        this.random = new Random(seed);
        this.freeAtNanos = new long[nature.servers()];
    }

    /** Requests it takes at once, by second; more are rejected. */
    SimulatedCluster rejectingAbove(LongUnaryOperator most) {
        mostAtSecond = most;
        return this;
    }

    /** How many times slower it is, by second. */
    SimulatedCluster slowedBy(LongUnaryOperator slowness) {
        slownessAtSecond = slowness;
        return this;
    }

    /** Documents there are to send, each second. */
    SimulatedCluster offered(double perSecond) {
        offeredPerSecond = perSecond;
        return this;
    }

    void runUntil(long second) {
        fill();
        while (!events.isEmpty() && events.peek().atNanos() < second * 1_000 * NANOS_PER_MS) {
            Event next = events.poll();
            nowNanos = next.atNanos();
            next.happens().run();
        }
        nowNanos = second * 1_000 * NANOS_PER_MS;
    }

    long documentsBetween(long fromSecond, long toSecond) {
        return documentsBySecond.subMap(fromSecond, toSecond).values().stream()
                .mapToLong(Long::longValue)
                .sum();
    }

    long rejections() {
        return rejections;
    }

    int mostUnderWay() {
        return mostUnderWay;
    }

    private int documentsPerRequest() {
        Limits limits = limiter.limits();
        return (int) Math.max(1, Math.min(limits.documents(), limits.bytes() / nature.documentBytes()));
    }

    private boolean isThereMore() {
        return offeredPerSecond == Double.MAX_VALUE
                || offeredTaken + documentsPerRequest() <= offeredPerSecond * nowNanos / 1e9;
    }

    private void fill() {
        while (underWay < limiter.limits().inFlight() && isThereMore()) {
            underWay++;
            mostUnderWay = Math.max(mostUnderWay, underWay);
            int documents = documentsPerRequest();
            offeredTaken += documents;
            send(documents, 1);
        }
        if (offeredPerSecond < Double.MAX_VALUE && underWay == 0) {
            after(NANOS_PER_MS, this::fill);
        }
    }

    private void send(int documents, int attempt) {
        long sentAtNanos = nowNanos;
        long second = nowNanos / 1_000 / NANOS_PER_MS;
        if (inCluster >= mostAtSecond.applyAsLong(second)) {
            rejections++;
            after(NANOS_PER_MS, () -> {
                if (attempt == 1) {
                    limiter.overloaded(sentAtNanos, nowNanos);
                }
                long ceilingMs = Math.min(30_000, 100L << Math.min(attempt - 1, 20));
                after((long) (random.nextDouble() * ceilingMs * NANOS_PER_MS), () -> send(documents, attempt + 1));
                fill();
            });
            return;
        }
        inCluster++;
        int server = 0;
        for (int s = 1; s < freeAtNanos.length; s++) {
            server = freeAtNanos[s] < freeAtNanos[server] ? s : server;
        }
        long start = Math.max(nowNanos + NANOS_PER_MS, freeAtNanos[server]);
        freeAtNanos[server] = start + serviceNanos(documents, start);
        after(freeAtNanos[server] - nowNanos, () -> inCluster--);
        after(freeAtNanos[server] - nowNanos + 2 * NANOS_PER_MS, () -> answered(sentAtNanos, documents));
    }

    private void answered(long sentAtNanos, int documents) {
        documentsBySecond.merge(nowNanos / 1_000 / NANOS_PER_MS, (long) documents, Long::sum);
        boolean heldBack = underWay >= limiter.limits().inFlight() && isThereMore();
        long work = Answered.work(documents, documents * nature.documentBytes());
        limiter.answered(new Answered(sentAtNanos, nowNanos, work, heldBack, true));
        underWay--;
        fill();
    }

    private long serviceNanos(int documents, long atNanos) {
        double ms = nature.msPerRequest()
                + nature.msPerDocument() * documents
                + nature.msPerMegabyte() * documents * nature.documentBytes() / (1 << 20);
        double own = Math.exp(0.2 * random.nextGaussian());
        double all = spells.computeIfAbsent(
                atNanos / NANOS_PER_MS / SPELL_MS, spell -> Math.exp(0.08 * random.nextGaussian()));
        long slowness = slownessAtSecond.applyAsLong(atNanos / 1_000 / NANOS_PER_MS);
        return (long) (ms * own * all * slowness * NANOS_PER_MS);
    }

    private void after(long delayNanos, Runnable happens) {
        events.add(new Event(nowNanos + delayNanos, numbers++, happens));
    }
}
