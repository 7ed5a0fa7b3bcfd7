package io.sluice.connect.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.config.SinkConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Three nodes, a, b and c, and a clock that stands still unless it is moved. */
class NodesTest {
    private long nowNanos = -TimeUnit.SECONDS.toNanos(30);
    private final Nodes nodes = new Nodes(
            new SinkConfig(Map.of("connection.url", "http://a,http://b,http://c"))
                    .connection()
                    .nodes(),
            () -> nowNanos);

    private void passMs(long ms) {
        nowNanos += TimeUnit.MILLISECONDS.toNanos(ms);
    }

    private Nodes.Attempt next(String node) {
        for (int i = 0; i < 3; i++) {
            Nodes.Attempt attempt = nodes.next();
            if (attempt.node().toString().equals(node)) {
                return attempt;
            }
        }
        throw new AssertionError(node + " has no turn");
    }

    private Set<String> nextThree() {
        Set<String> names = new TreeSet<>();
        for (int i = 0; i < 3; i++) {
            names.add(nodes.next().node().toString());
        }
        return names;
    }

    private void fail(String node) {
        nodes.failed(next(node), "refused");
    }

    private long msUntilProbed() {
        for (long ms = 0; ms <= 100_000; ms += 100) {
            Nodes.Attempt probe = nodes.nextProbe();
            if (probe != null) {
                nodes.failed(probe, "refused");
                return ms;
            }
            passMs(100);
        }
        throw new AssertionError("never probed");
    }

    /** Requests go to the living nodes in turn. */
    @Test
    void livingNodesTakeTurns() {
        assertEquals(Set.of("a", "b", "c"), nextThree());
        fail("b");
        assertEquals(Set.of("a", "c"), nextThree());
        assertEquals(1, nodes.leftOut());
        assertTrue(nodes.isAnyLiving());
    }

    /** A node that fails each probe is asked after 1 s, 2 s, 4 s … 60 s. */
    @Test
    void aDeadNodeIsAskedLessAndLess() {
        fail("b");
        List<Long> waits = new ArrayList<>();
        for (int i = 0; i < 9; i++) {
            waits.add(msUntilProbed());
        }
        assertEquals(List.of(1_000L, 2_000L, 4_000L, 8_000L, 16_000L, 32_000L, 60_000L, 60_000L, 60_000L), waits);
    }

    /** One probe at a time, while requests go to the others. */
    @Test
    void oneProbeAtATime() {
        fail("b");
        assertNull(nodes.nextProbe());
        passMs(1_000);
        Nodes.Attempt probe = nodes.nextProbe();
        assertEquals("b", probe.node().toString());
        passMs(100_000);
        assertNull(nodes.nextProbe());
        assertEquals(Set.of("a", "c"), nextThree());
        nodes.answered(probe);
        assertEquals(Set.of("a", "b", "c"), nextThree());
    }

    /** A node that answers probes, but no request, is left out for longer each time; an answered request ends that. */
    @Test
    void onlyAnAnsweredRequestMakesANodeAsGoodAsNew() {
        fail("b");
        passMs(1_000);
        nodes.answered(nodes.nextProbe());
        fail("b");
        passMs(1_900);
        assertNull(nodes.nextProbe());
        passMs(100);
        nodes.answered(nodes.nextProbe());
        nodes.answered(next("b"));
        fail("b");
        passMs(1_000);
        assertNotNull(nodes.nextProbe());
    }

    /** Requests that were sent before a node was left out do not leave it out for longer when they fail, too. */
    @Test
    void failuresOfTheSameTimeCountOnce() {
        List<Nodes.Attempt> sent = List.of(next("b"), next("b"), next("b"));
        passMs(10);
        nodes.failed(sent.get(0), "reset");
        passMs(10);
        nodes.failed(sent.get(1), "reset");
        nodes.failed(sent.get(2), "reset");
        passMs(990);
        assertNotNull(nodes.nextProbe());
    }

    /** A request that was sent before a node was left out, and fails after it is back, says nothing of it. */
    @Test
    void lateFailuresSayNothing() {
        Nodes.Attempt early = next("b");
        passMs(10);
        fail("b");
        passMs(1_000);
        nodes.answered(nodes.nextProbe());
        nodes.failed(early, "timed out");
        assertEquals(Set.of("a", "b", "c"), nextThree());
    }

    /** While every node is out, the one that failed longest ago is tried; its answer brings it back at once. */
    @Test
    void ofDeadNodesTheLongestDeadIsTried() {
        fail("c");
        passMs(1);
        fail("a");
        passMs(1);
        fail("b");
        assertFalse(nodes.isAnyLiving());
        List<String> tried = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            passMs(1);
            Nodes.Attempt attempt = nodes.next();
            tried.add(attempt.node().toString());
            passMs(1);
            nodes.failed(attempt, "refused");
        }
        assertEquals(List.of("c", "a", "b", "c", "a", "b"), tried);
        nodes.answered(nodes.next());
        assertEquals(Set.of("c"), nextThree());
    }

    /** Those tries, which a short backoff makes often, do not make the time longer: only its end does. */
    @Test
    void triesOfDeadNodesDoNotMakeTheirTimeLonger() {
        fail("a");
        fail("b");
        fail("c");
        for (int i = 0; i < 9; i++) {
            passMs(100);
            nodes.failed(nodes.next(), "refused");
        }
        passMs(100);
        assertNotNull(nodes.nextProbe());
    }

    private Node identified(String name, String... ids) {
        Node node = next(name).node();
        for (String id : ids) {
            nodes.identified(node, id);
        }
        return node;
    }

    private Set<String> nextThreeFor(String id) {
        Set<String> names = new TreeSet<>();
        for (int i = 0; i < 3; i++) {
            names.add(nodes.next(id).node().toString());
        }
        return names;
    }

    /** A request goes to the node that said twice who it is. */
    @Test
    void aKnownNodeGetsWhatIsForIt() {
        identified("b", "id-b", "id-b");
        assertEquals(Set.of("b"), nextThreeFor("id-b"));
    }

    /** What nobody said twice is not believed: before a load balancer it is now the one node, now another. */
    @Test
    void aLoadBalancerIsNoNode() {
        identified("b", "id-a", "id-b", "id-c");
        assertEquals(3, nextThreeFor("id-c").size());
    }

    /** What cannot tell who it is, is nobody. */
    @Test
    void aNodeThatKeepsItsIdToItselfIsNobody() {
        identified("b", "", "");
        assertEquals(3, nextThreeFor("").size());
    }

    /** While a known node is out, the others have their turns. */
    @Test
    void aNodeThatIsOutGetsNothing() {
        identified("b", "id-b", "id-b");
        fail("b");
        assertEquals(Set.of("a", "c"), nextThreeFor("id-b"));
    }
}
