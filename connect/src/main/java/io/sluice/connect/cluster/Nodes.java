package io.sluice.connect.cluster;

import io.sluice.connect.config.NodeUrl;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which node gets the next request: the living ones in turn.
 *
 * <p>A node that fails is left out for 1 s, and for twice as long each time until it has answered a request of the sink, for
 * 60 s at most. Then a small question finds out whether it is back. While every node is out, the one that failed longest ago
 * is tried.
 */
final class Nodes {
    private static final Logger LOG = LoggerFactory.getLogger(Nodes.class);

    private final List<Node> nodes;
    private final LongSupplier nanoTime;
    private int turn;

    Nodes(List<NodeUrl> urls, LongSupplier nanoTime) {
        this.nodes = urls.stream().map(Node::new).collect(Collectors.toList());
        this.nanoTime = nanoTime;
    }

    /** A request, or a probe, that a node is to get now. */
    record Attempt(Node node, long sentAtNanos, boolean isProbe) {}

    synchronized Attempt next() {
        Node oldest = null;
        for (int i = 0; i < nodes.size(); i++) {
            turn = (turn + 1) % nodes.size();
            Node node = nodes.get(turn);
            if (!node.isOut()) {
                return new Attempt(node, nanoTime.getAsLong(), false);
            }
            oldest = oldest == null || node.failedAtNanos() - oldest.failedAtNanos() < 0 ? node : oldest;
        }
        return new Attempt(oldest, nanoTime.getAsLong(), false);
    }

    /** The node with this id if it is known and living, otherwise the one whose turn it is. */
    synchronized Attempt next(String id) {
        for (Node node : nodes) {
            if (!node.isOut() && node.is(id)) {
                return new Attempt(node, nanoTime.getAsLong(), false);
            }
        }
        return next();
    }

    /** The nodes to be asked who they are, each so many times; none where there is no choice. */
    synchronized List<Attempt> toBeIdentified(int times) {
        if (nodes.size() == 1) {
            return List.of();
        }
        long now = nanoTime.getAsLong();
        return nodes.stream()
                .filter(node -> node.mayBeIdentified(times))
                .map(node -> new Attempt(node, now, false))
                .collect(Collectors.toList());
    }

    synchronized void notIdentified(Node node) {
        node.notIdentified();
    }

    synchronized void identified(Node node, String id) {
        node.identified(id);
    }

    /** The next probe that is due, or {@code null}. */
    synchronized Attempt nextProbe() {
        long now = nanoTime.getAsLong();
        for (Node node : nodes) {
            if (node.isDueForAProbe(now)) {
                node.probed();
                return new Attempt(node, now, true);
            }
        }
        return null;
    }

    synchronized void answered(Attempt attempt) {
        long outNanos = attempt.node().answered(attempt.isProbe(), nanoTime.getAsLong());
        if (outNanos > 0) {
            LOG.info("node {}: answers again after {} ms", attempt.node(), TimeUnit.NANOSECONDS.toMillis(outNanos));
        }
    }

    /** @param why in words that quote no document */
    synchronized void failed(Attempt attempt, String why) {
        long outNanos = attempt.node().failed(attempt.sentAtNanos(), nanoTime.getAsLong());
        if (outNanos > 0 && nodes.size() > 1) {
            LOG.warn(
                    "node {}: {}; left out for {} ms, {} of {} nodes are",
                    attempt.node(),
                    why,
                    TimeUnit.NANOSECONDS.toMillis(outNanos),
                    leftOut(),
                    nodes.size());
        }
    }

    synchronized int leftOut() {
        return (int) nodes.stream().filter(Node::isOut).count();
    }

    synchronized boolean isAnyLiving() {
        return leftOut() < nodes.size();
    }
}
