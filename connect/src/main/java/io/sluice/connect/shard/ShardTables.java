package io.sluice.connect.shard;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.cluster.Answer;
import io.sluice.connect.cluster.ClusterClient;
import io.sluice.connect.cluster.ClusterRequest;
import java.net.URLEncoder;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
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
    /** So long a refusal holds: only an administrator changes it. */
    private static final long REFUSAL_NANOS = TimeUnit.MINUTES.toNanos(5);

    private static final long UNUSED_NANOS = TimeUnit.MINUTES.toNanos(10);

    private final ClusterClient client;
    private final LongSupplier nanoTime;
    private final Map<String, Known> byTarget = new ConcurrentHashMap<>();
    private final AtomicLong identifiedUntilNanos;
    private volatile boolean isRefused;

    /** @param nextNanos when it is asked for again */
    private record Known(ShardTable table, long nextNanos) {
        Known until(long nanos) {
            return new Known(table, nanos);
        }
    }

    public ShardTables(ClusterClient client, LongSupplier nanoTime) {
        this.client = client;
        this.nanoTime = nanoTime;
        this.identifiedUntilNanos = new AtomicLong(nanoTime.getAsLong());
    }

    /** How the documents of a target are placed, if requests for one shard each are worth while. */
    public ShardRouting routingOf(String target) {
        Known known = byTarget.get(target);
        return known == null || !isWorthWhile(known.table())
                ? ShardRouting.UNKNOWN
                : known.table().routing();
    }

    private static boolean isWorthWhile(ShardTable table) {
        return table.nodes() > 1;
    }

    /** The id of the node that holds the primary of a target's shard, empty where it is not known. */
    public String nodeOf(String target, int shard) {
        Known known = byTarget.get(target);
        return known == null ? "" : known.table().nodeOf(shard);
    }

    /** Asks for the target's shards if it is time to; to be called for each request that leaves others waiting. */
    public void refresh(String target) {
        long now = nanoTime.getAsLong();
        Known known = byTarget.get(target);
        if (known == null) {
            byTarget.values().removeIf(old -> now - old.nextNanos() > UNUSED_NANOS);
            if (byTarget.putIfAbsent(target, new Known(ShardTable.UNKNOWN, now + VALID_NANOS)) == null) {
                ask(target);
            }
        } else if (now - known.nextNanos() >= 0 && byTarget.replace(target, known, known.until(now + VALID_NANOS))) {
            ask(target);
        }
    }

    private void ask(String target) {
        String name = URLEncoder.encode(target, UTF_8);
        identifyNodes();
        client.send(
                new ClusterRequest(
                        "GET", "/_cluster/state/metadata,routing_table/" + name + "?filter_path=" + ShardTable.WANTED),
                new Heard(target, answer -> read(target, name, answer)));
    }

    private void identifyNodes() {
        long now = nanoTime.getAsLong();
        long until = identifiedUntilNanos.get();
        if (now - until >= 0 && identifiedUntilNanos.compareAndSet(until, now + VALID_NANOS)) {
            client.identifyNodes();
        }
    }

    private void read(String target, String name, Answer answer) {
        Map<String, ShardTable> tables = ShardTable.read(answer.scalars());
        if (tables.size() < 2) {
            learn(target, tables.values().stream().findFirst().orElse(ShardTable.UNKNOWN));
            return;
        }
        client.send(
                new ClusterRequest("GET", "/_alias/" + name + "?filter_path=*.aliases.*.is_write_index"),
                new Heard(
                        target,
                        aliases -> learn(target, tables.getOrDefault(writeIndex(aliases), ShardTable.UNKNOWN))));
    }

    /** The index that an alias of several writes to, empty for none. */
    private static String writeIndex(Answer aliases) {
        return aliases.scalars().entrySet().stream()
                .filter(scalar -> scalar.getKey().endsWith("/is_write_index") && "true".equals(scalar.getValue()))
                .map(scalar -> scalar.getKey().split("/")[1])
                .findFirst()
                .orElse("");
    }

    private void learn(String target, ShardTable table) {
        long now = nanoTime.getAsLong();
        boolean isKnown = !table.equals(ShardTable.UNKNOWN);
        Known before = byTarget.put(target, new Known(table, now + (isKnown ? VALID_NANOS : RETRY_NANOS)));
        boolean isNews = before == null || !before.table().routing().equals(table.routing());
        if (isNews && isWorthWhile(table)) {
            LOG.info(
                    "{}: requests hold documents of one shard each while more waits than one holds ({} shards on {} nodes)",
                    target,
                    table.routing().shards(),
                    table.nodes());
        }
    }

    private void refused(String target, int status) {
        boolean isOfAccess = status == HttpStatus.SC_UNAUTHORIZED || status == HttpStatus.SC_FORBIDDEN;
        byTarget.put(
                target,
                new Known(ShardTable.UNKNOWN, nanoTime.getAsLong() + (isOfAccess ? REFUSAL_NANOS : RETRY_NANOS)));
        if (isOfAccess && !isRefused) {
            isRefused = true;
            LOG.info(
                    "cannot ask for shards (status {}): requests hold documents of all shards; bulk.by.shard needs the"
                            + " cluster privilege monitor",
                    status);
        }
    }

    /** Hears an answer that is good; any other means that nothing is known. */
    private final class Heard implements ClusterClient.Listener {
        private final String target;
        private final Consumer<Answer> reaction;

        Heard(String target, Consumer<Answer> reaction) {
            this.target = target;
            this.reaction = reaction;
        }

        @Override
        public Runnable read(Answer answer) {
            return () -> {
                if (!answer.isSuccess()) {
                    refused(target, answer.status());
                    return;
                }
                try {
                    reaction.accept(answer);
                } catch (RuntimeException bug) {
                    // It must not end the client's thread, which all requests need.
                    LOG.error("{}: cannot read what the cluster says of its shards", target, bug);
                }
            };
        }

        @Override
        public void unanswered(String node, Exception cause) {
            // What was known before may still be true.
        }
    }
}
