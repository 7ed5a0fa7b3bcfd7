package io.sluice.connect.shard;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.cluster.Answer;
import io.sluice.connect.cluster.ClusterClient;
import io.sluice.connect.cluster.ClusterRequest;
import java.io.IOException;
import java.net.URLEncoder;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.apache.hc.core5.http.HttpStatus;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is known of the shards of indices for which more waits than one request holds. Asked again every 10 s while it does, so that a shard
 * that has moved, a split, or an alias's next index is found out; until then the nodes forward what comes to the wrong one.
 *
 * <p>Safe for several threads.
 */
public final class ShardTables {
    private static final Logger LOG = LoggerFactory.getLogger(ShardTables.class);

    private static final long VALID_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** The first request for an index may create it. */
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** So long it holds that a target is of no use, or that the question is refused: somebody must change that. */
    private static final long LONG_NANOS = TimeUnit.MINUTES.toNanos(5);

    private static final long UNUSED_NANOS = TimeUnit.MINUTES.toNanos(10);

    private final ClusterClient client;
    private final LongSupplier nanoTime;
    private final Map<String, Known> byTarget = new ConcurrentHashMap<>();
    /** One question at a time, for whatever target: they share the connections of the requests. */
    private final AtomicBoolean isAsking = new AtomicBoolean();

    /** When the nodes are asked again who they are; of meaning to whoever is asking. */
    private long identifyAtNanos;

    private volatile boolean isRefused;

    /**
     * What is known of a target.
     *
     * @param waitNanos how long it holds
     * @param untilNanos when it is asked for again
     */
    private record Known(ShardTable table, long waitNanos, long untilNanos) {}

    public ShardTables(ClusterClient client, LongSupplier nanoTime) {
        this.client = client;
        this.nanoTime = nanoTime;
        this.identifyAtNanos = nanoTime.getAsLong();
    }

    /** The shards of a target, or {@link ShardTable#UNKNOWN} where requests by shard are not worth while. */
    public ShardTable of(String target) {
        Known known = byTarget.get(target);
        return known == null ? ShardTable.UNKNOWN : known.table();
    }

    /** Asks for the target's shards if it is time to; to be called for each request that leaves others waiting. */
    public void refresh(String target) {
        long now = nanoTime.getAsLong();
        Known known = byTarget.get(target);
        boolean isDue = known == null || now - known.untilNanos() >= 0;
        if (isDue && isAsking.compareAndSet(false, true)) {
            byTarget.values().removeIf(old -> now - old.untilNanos() > UNUSED_NANOS);
            identifyNodes(now);
            ask(target);
        }
    }

    /** Once for all targets: who a node is does not depend on them. */
    private void identifyNodes(long nowNanos) {
        if (nowNanos - identifyAtNanos >= 0) {
            identifyAtNanos = nowNanos + VALID_NANOS;
            client.identifyNodes();
        }
    }

    private void ask(String target) {
        String name = URLEncoder.encode(target, UTF_8);
        client.ask(
                new ClusterRequest(
                        "GET", "/_cluster/state/metadata,routing_table/" + name + "?filter_path=" + ShardTable.WANTED),
                new Heard(target, scalars -> read(target, name, scalars)));
    }

    /** Returns whether nothing more is asked. */
    private boolean read(String target, String name, Map<String, String> scalars) {
        Set<String> indices = ShardTable.indices(scalars);
        if (indices.isEmpty()) {
            // So the cluster says that there is none: ClusterStateRequest.java of Elasticsearch and OpenSearch,
            // lenientExpandOpen.
            missing(target);
            return true;
        }
        if (indices.size() == 1) {
            learn(target, ShardTable.read(scalars, indices.iterator().next()));
            return true;
        }
        client.ask(
                new ClusterRequest("GET", "/_alias/" + name + "?filter_path=*.aliases.*.is_write_index"),
                new Heard(target, aliases -> {
                    learn(target, ShardTable.read(scalars, writeIndex(aliases)));
                    return true;
                }));
        return false;
    }

    /** The index that an alias of several writes to, empty for none. */
    private static String writeIndex(Map<String, String> aliases) {
        return aliases.entrySet().stream()
                .filter(scalar -> scalar.getKey().endsWith("/is_write_index") && "true".equals(scalar.getValue()))
                .map(scalar -> scalar.getKey().split("/")[1])
                .findFirst()
                .orElse("");
    }

    private void learn(String target, ShardTable table) {
        ShardTable before = of(target);
        ShardTable useful = table.isOfSeveralNodes() ? table : ShardTable.UNKNOWN;
        hold(target, useful, table.equals(ShardTable.UNKNOWN) ? LONG_NANOS : VALID_NANOS);
        if (!useful.equals(ShardTable.UNKNOWN) && before.equals(ShardTable.UNKNOWN)) {
            LOG.info(
                    "{}: requests are formed by shard, of which it has {}",
                    target,
                    table.routing().shards());
        }
    }

    private void hold(String target, ShardTable table, long waitNanos) {
        byTarget.put(target, new Known(table, waitNanos, nanoTime.getAsLong() + waitNanos));
    }

    /** Soon it may be there; where it never is, the question is put ever more seldom. */
    private void missing(String target) {
        Known before = byTarget.get(target);
        boolean isNews = before == null || !before.table().equals(ShardTable.UNKNOWN);
        hold(target, ShardTable.UNKNOWN, isNews ? RETRY_NANOS : Math.min(LONG_NANOS, 2 * before.waitNanos()));
    }

    private void refused(String target, int status) {
        // A token that has expired is soon replaced, unless the question never was answered.
        boolean isUnknown = of(target).equals(ShardTable.UNKNOWN);
        if (status == HttpStatus.SC_NOT_FOUND) {
            missing(target);
        } else if (status == HttpStatus.SC_FORBIDDEN || status == HttpStatus.SC_UNAUTHORIZED && isUnknown) {
            hold(target, ShardTable.UNKNOWN, LONG_NANOS);
            logOnce(status);
        } else {
            stillHolds(target);
        }
    }

    /** What was known before may still be true. */
    private void stillHolds(String target) {
        hold(target, of(target), VALID_NANOS);
    }

    private void logOnce(int status) {
        if (!isRefused) {
            isRefused = true;
            LOG.info(
                    "cannot ask for shards (status {}), so requests are not formed by them: bulk.by.shard needs the cluster"
                            + " privilege monitor, and for an alias of several indices view_index_metadata",
                    status);
        }
    }

    /** What is done about a good answer. */
    private interface Reaction {
        /** Returns whether nothing more is asked. */
        boolean to(Map<String, String> scalars);
    }

    /** Hears what became of a question. */
    private final class Heard implements ClusterClient.Listener {
        private final String target;
        private final Reaction reaction;

        Heard(String target, Reaction reaction) {
            this.target = target;
            this.reaction = reaction;
        }

        @Override
        public Runnable read(Answer answer) {
            return () -> {
                if (isOver(answer)) {
                    isAsking.set(false);
                }
            };
        }

        private boolean isOver(Answer answer) {
            if (!answer.isSuccess()) {
                refused(target, answer.status());
                return true;
            }
            try {
                return reaction.to(answer.fewScalars());
            } catch (IOException | RuntimeException | Error unusable) {
                // It must not end the client's thread, which all requests need.
                LOG.warn("{}: cannot read what the cluster says of its shards", target, unusable);
                hold(target, ShardTable.UNKNOWN, LONG_NANOS);
                return true;
            }
        }

        @Override
        public void unanswered(String node, Exception cause) {
            stillHolds(target);
            isAsking.set(false);
        }
    }
}
