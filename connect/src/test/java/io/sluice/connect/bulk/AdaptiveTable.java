package io.sluice.connect.bulk;

import io.sluice.connect.bulk.SimulatedCluster.Nature;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * Prints the README's table of what each way to find the level gets done, as a share of the best fixed setting.
 *
 * <p>In {@code connect/}: {@code mvn -q test-compile}, then {@code java -cp target/classes:target/test-classes
 * io.sluice.connect.bulk.AdaptiveTable}; takes some 20 seconds.
 */
final class AdaptiveTable {
    private static final long SECONDS = 240;
    /** Others than those of the tests. */
    private static final int[] SEEDS = IntStream.range(100, 108).toArray();

    private static final Limits MOST = new Limits(20, 10_000, 50L << 20);
    private static final int[] IN_FLIGHT = {1, 2, 3, 4, 5, 8, 13, 20, 30, 50, 100};
    private static final int[] DOCUMENTS = {250, 500, 1_000, 2_000, 3_500, 5_000, 10_000};

    private record Case(String name, Nature nature, Limits most, UnaryOperator<SimulatedCluster> events) {
        Case(String name, Nature nature, UnaryOperator<SimulatedCluster> events) {
            this(name, nature, MOST, events);
        }

        double[] documents(Supplier<Limiter> limiter) {
            return Arrays.stream(SEEDS)
                    .mapToDouble(seed -> {
                        SimulatedCluster cluster = events.apply(new SimulatedCluster(nature, limiter.get(), seed));
                        cluster.runUntil(SECONDS);
                        return cluster.documentsBetween(0, SECONDS);
                    })
                    .toArray();
        }

        /** For each seed, what the setting that is best over all seeds reaches. */
        double[] best() {
            return Arrays.stream(IN_FLIGHT)
                    .filter(inFlight -> inFlight <= most.inFlight())
                    .boxed()
                    .flatMap(inFlight -> Arrays.stream(DOCUMENTS)
                            .mapToObj(size -> new Limits(inFlight, size, Math.min(most.bytes(), size * 2_621L))))
                    .map(limits -> documents(() -> Limiter.fixed(limits)))
                    .max((a, b) -> Double.compare(
                            Arrays.stream(a).sum(), Arrays.stream(b).sum()))
                    .orElseThrow();
        }
    }

    private static final List<Case> CASES = List.of(
            new Case("2 servers, 0.04 ms per document", Nature.TWO_SERVERS, cluster -> cluster),
            new Case(
                    "16 such servers (bound: 100 requests)",
                    Nature.SIXTEEN_SERVERS,
                    new Limits(100, 10_000, 50L << 20),
                    cluster -> cluster),
            new Case("1 server, 0.4 ms per document", Nature.SLOW_SERVER, cluster -> cluster),
            new Case("40 ms per request, 0.01 ms per document", Nature.COSTLY_REQUESTS, cluster -> cluster),
            new Case("200 ms per request, 0.01 ms per document", Nature.VERY_COSTLY_REQUESTS, cluster -> cluster),
            new Case("1 MB documents, 20 ms per MB", Nature.LARGE_DOCUMENTS, cluster -> cluster),
            new Case(
                    "8 servers that reject above 3 requests",
                    Nature.EIGHT_SERVERS,
                    cluster -> cluster.rejectingAbove(at -> 3)),
            new Case(
                    "2 servers that reject above 3 requests",
                    Nature.TWO_SERVERS,
                    cluster -> cluster.rejectingAbove(at -> 3)),
            new Case(
                    "twice as slow for a minute",
                    Nature.TWO_SERVERS,
                    cluster -> cluster.slowedBy(second -> second >= 60 && second < 120 ? 2 : 1)),
            new Case(
                    "rejects everything for a minute",
                    Nature.EIGHT_SERVERS,
                    cluster -> cluster.rejectingAbove(second -> second >= 60 && second < 120 ? 0 : Long.MAX_VALUE)));

    private AdaptiveTable() {}

    public static void main(String[] arguments) {
        System.out.println("| cluster | adaptive | latency gradient | additive increase | 5 × 2,000 | 5 × 5,000 |");
        System.out.println("| --- | --- | --- | --- | --- | --- |");
        for (Case each : CASES) {
            double[] best = each.best();
            double[] adaptive = shares(each.documents(() -> new AdaptiveLimits(each.most())), best);
            int most = each.most().inFlight();
            IntFunction<Supplier<Limiter>> fixed =
                    documents -> () -> Limiter.fixed(new Limits(5, documents, AdaptiveLimits.START.bytes()));
            System.out.printf(
                    Locale.ROOT,
                    "| %s | %.3f (%.3f) | %.3f | %.3f | %.3f | %.3f |%n",
                    each.name(),
                    mean(adaptive),
                    Arrays.stream(adaptive).min().orElseThrow(),
                    mean(shares(each.documents(() -> RivalLimiters.gradient(AdaptiveLimits.START, most)), best)),
                    mean(shares(
                            each.documents(() -> RivalLimiters.additiveIncrease(AdaptiveLimits.START, most)), best)),
                    mean(shares(each.documents(fixed.apply(2_000)), best)),
                    mean(shares(each.documents(fixed.apply(5_000)), best)));
        }
    }

    private static double[] shares(double[] reached, double[] best) {
        return IntStream.range(0, best.length)
                .mapToDouble(seed -> reached[seed] / best[seed])
                .toArray();
    }

    private static double mean(double[] values) {
        return Arrays.stream(values).average().orElseThrow();
    }
}
