package io.sluice.connect.bulk;

import static io.sluice.connect.bulk.SimulatedCluster.Nature.COSTLY_REQUESTS;
import static io.sluice.connect.bulk.SimulatedCluster.Nature.EIGHT_SERVERS;
import static io.sluice.connect.bulk.SimulatedCluster.Nature.LARGE_DOCUMENTS;
import static io.sluice.connect.bulk.SimulatedCluster.Nature.SIXTEEN_SERVERS;
import static io.sluice.connect.bulk.SimulatedCluster.Nature.SLOW_SERVER;
import static io.sluice.connect.bulk.SimulatedCluster.Nature.TWO_SERVERS;
import static io.sluice.connect.bulk.SimulatedCluster.Nature.VERY_COSTLY_REQUESTS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.bulk.SimulatedCluster.Nature;
import java.util.Random;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

class AdaptiveLimitsTest {
    private static final Limits START = new Limits(5, 5_000, 5L << 20);
    private static final Limits DEFAULTS = new Limits(5, 2_000, 5L << 20);
    private static final Limits MOST = new Limits(20, 10_000, 50L << 20);
    private static final int SEEDS = 3;

    private static double mean(
            Nature nature,
            Function<Integer, Limiter> limiters,
            UnaryOperator<SimulatedCluster> cluster,
            ToDoubleFunction<SimulatedCluster> rate) {
        double sum = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            SimulatedCluster simulated = cluster.apply(new SimulatedCluster(nature, limiters.apply(seed), seed));
            sum += rate.applyAsDouble(simulated);
        }
        return sum / SEEDS;
    }

    private static ToDoubleFunction<SimulatedCluster> documents(long fromSecond, long toSecond) {
        return cluster -> {
            cluster.runUntil(toSecond);
            return cluster.documentsBetween(fromSecond, toSecond);
        };
    }

    /** The documents that the best of many fixed settings gets done in that time. */
    private static double best(
            Nature nature, Limits most, UnaryOperator<SimulatedCluster> cluster, long fromSecond, long toSecond) {
        double best = 0;
        for (int inFlight : new int[] {1, 2, 3, 5, 8, 13, 20, 40}) {
            for (int documents : new int[] {500, 2_000, 10_000}) {
                Limits limits = new Limits(
                        Math.min(inFlight, most.inFlight()), documents, Math.min(most.bytes(), documents * 2_621L));
                Limiter fixed = Limiter.fixed(limits);
                best = Math.max(best, mean(nature, seed -> fixed, cluster, documents(fromSecond, toSecond)));
            }
        }
        return best;
    }

    private static double adaptive(
            Nature nature, Limits most, UnaryOperator<SimulatedCluster> cluster, long fromSecond, long toSecond) {
        return mean(nature, seed -> new AdaptiveLimits(most), cluster, documents(fromSecond, toSecond));
    }

    private static void assertShareOfBest(
            double share, Nature nature, Limits most, UnaryOperator<SimulatedCluster> cluster, long from, long to) {
        double reached = adaptive(nature, most, cluster, from, to) / best(nature, most, cluster, from, to);
        assertTrue(reached >= share, "share of the best fixed setting: " + reached);
    }

    /** On a cluster that the start already fills, the search costs less than 5 %, from the first second on. */
    @Test
    void theFastCaseIsNotLost() {
        assertShareOfBest(0.95, TWO_SERVERS, MOST, cluster -> cluster, 0, 30);
        assertShareOfBest(0.95, TWO_SERVERS, MOST, cluster -> cluster, 30, 240);
    }

    /** A cluster that takes three times what the start gives it gets that within a minute. */
    @Test
    void aLargeClusterIsFilled() {
        assertShareOfBest(0.95, SIXTEEN_SERVERS, new Limits(100, 10_000, 50L << 20), cluster -> cluster, 30, 120);
    }

    /** A slow cluster gets what it takes. */
    @Test
    void aSlowClusterIsKeptBusy() {
        assertShareOfBest(0.95, SLOW_SERVER, MOST, cluster -> cluster, 0, 240);
    }

    /** Where the cost is that of a request, requests grow; a search for their number alone stays at half the rate. */
    @Test
    void requestsGrowWhereEachCostsMuch() {
        assertShareOfBest(0.95, COSTLY_REQUESTS, MOST, cluster -> cluster, 30, 240);
        assertAheadOfRivals(1.9, COSTLY_REQUESTS, DEFAULTS);
    }

    /** Where it costs five times as much, such a search stays behind although it begins with requests as large. */
    @Test
    void requestsGrowBeyondWhereTheyBegin() {
        assertShareOfBest(0.95, VERY_COSTLY_REQUESTS, MOST, cluster -> cluster, 30, 240);
        assertAheadOfRivals(1.5, VERY_COSTLY_REQUESTS, START);
    }

    private static void assertAheadOfRivals(double times, Nature nature, Limits start) {
        double adaptive = adaptive(nature, MOST, cluster -> cluster, 30, 240);
        for (Limiter rival : new Limiter[] {
            RivalLimiters.gradient(start, MOST.inFlight()), RivalLimiters.additiveIncrease(start, MOST.inFlight())
        }) {
            assertTrue(times * mean(nature, seed -> rival, cluster -> cluster, documents(30, 240)) < adaptive);
        }
    }

    /** With documents of 1 MB, where the cost is that of bytes, nothing is lost either. */
    @Test
    void largeDocumentsAreNoSlowness() {
        assertShareOfBest(0.95, LARGE_DOCUMENTS, MOST, cluster -> cluster, 0, 240);
    }

    /** A cluster that rejects above three requests is used at three, and is seldom made to reject. */
    @Test
    void aClusterThatRejectsIsUsedJustBelow() {
        UnaryOperator<SimulatedCluster> rejecting = cluster -> cluster.rejectingAbove(second -> 3);
        assertShareOfBest(0.92, EIGHT_SERVERS, MOST, rejecting, 0, 240);
        double adaptive = adaptive(EIGHT_SERVERS, MOST, rejecting, 0, 240);
        assertTrue(adaptive
                > 1.1
                        * mean(
                                EIGHT_SERVERS,
                                seed -> RivalLimiters.gradient(START, MOST.inFlight()),
                                rejecting,
                                documents(0, 240)));
        double rejections = mean(
                EIGHT_SERVERS,
                seed -> new AdaptiveLimits(MOST),
                cluster -> ran(rejecting.apply(cluster)),
                SimulatedCluster::rejections);
        assertTrue(rejections < 60, "rejections in 240 s: " + rejections);
    }

    private static SimulatedCluster ran(SimulatedCluster cluster) {
        cluster.runUntil(240);
        return cluster;
    }

    /** When latency doubles for a minute, the limits are not what makes it worse, then or later. */
    @Test
    void aSlowMinuteIsNoReasonToStop() {
        assertShareOfBest(
                0.95,
                TWO_SERVERS,
                MOST,
                cluster -> cluster.slowedBy(second -> second >= 60 && second < 120 ? 2 : 1),
                0,
                240);
    }

    /** After a minute in which everything is rejected the rate comes back, though retries wait for up to 30 s. */
    @Test
    void theFullRateComesBackAfterAnOutage() {
        UnaryOperator<SimulatedCluster> outage =
                cluster -> cluster.rejectingAbove(second -> second >= 60 && second < 120 ? 0 : Long.MAX_VALUE);
        double before = adaptive(EIGHT_SERVERS, MOST, outage, 30, 60) / 30;
        assertEquals(0, adaptive(EIGHT_SERVERS, MOST, outage, 70, 120));
        double after = adaptive(EIGHT_SERVERS, MOST, outage, 170, 240) / 70;
        assertTrue(after > 0.95 * before, before + " per second before, " + after + " after");
    }

    /** While the source is the limit nothing is tried: all documents arrive and the limits stay. */
    @Test
    void aSlowSourceChangesNothing() {
        AdaptiveLimits limits = new AdaptiveLimits(MOST);
        SimulatedCluster cluster = new SimulatedCluster(TWO_SERVERS, limits, 7).offered(10_007);
        cluster.runUntil(120);
        assertEquals(START, limits.limits());
        assertEquals(10_007 * 119.0, cluster.documentsBetween(0, 120), 10_007 * 2);
    }

    /** Many rejections of requests sent under the same limits halve once; a second round halves again, down to one. */
    @Test
    void aRoundOfRejectionsHalvesOnce() {
        AdaptiveLimits limits = new AdaptiveLimits(MOST);
        for (int expected : new int[] {2, 1}) {
            long sentAt = expected * -10L + 100;
            for (int i = 0; i < 5; i++) {
                limits.overloaded(sentAt, sentAt + 3);
            }
            assertEquals(new Limits(expected, START.documents(), START.bytes()), limits.limits());
        }
        limits.overloaded(200, 203);
        assertEquals(new Limits(1, START.documents() / 2, START.bytes() / 2), limits.limits());
    }

    /** Answers double what was halved, up to a step below what was rejected. */
    @Test
    void answersDoubleUpToBelowTheRejection() {
        AdaptiveLimits limits = new AdaptiveLimits(MOST);
        limits.overloaded(1, 2);
        for (int i = 0; i < 2; i++) {
            assertEquals(2, limits.limits().inFlight());
            limits.answered(new Answered(3, 4 + i, 1, true, true));
        }
        assertEquals(4, limits.limits().inFlight());
    }

    /** Whatever happens, the limits stay between the floor and what the settings allow. */
    @Test
    void theLimitsStayWithinTheirBounds() {
        for (int seed = 0; seed < 31; seed++) {
            Random random = new Random(seed);
            Limits most = new Limits(1 + random.nextInt(50), 1 + random.nextInt(9_973), 1 + random.nextInt(1 << 24));
            AdaptiveLimits limits = new AdaptiveLimits(most);
            long now = 1;
            for (int event = 0; event < 10_007; event++) {
                now += random.nextInt(200_000_000);
                long sentAt = now - random.nextInt(100_000_000);
                switch (random.nextInt(seed % 2 == 0 ? 200 : 5)) {
                    case 0 -> limits.overloaded(sentAt, now);
                    case 1 -> limits.failed(now);
                    default -> limits.answered(new Answered(sentAt, now, random.nextInt(1 << 20), true, true));
                }
                assertWithin(most, limits.limits());
            }
        }
    }

    private static void assertWithin(Limits most, Limits limits) {
        assertTrue(limits.inFlight() >= 1 && limits.inFlight() <= most.inFlight(), limits::toString);
        assertTrue(
                limits.documents() >= Math.min(50, most.documents()) && limits.documents() <= most.documents(),
                limits::toString);
        assertTrue(
                limits.bytes() >= Math.min(256 << 10, most.bytes()) && limits.bytes() <= most.bytes(),
                limits::toString);
    }
}
