package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.sluice.connect.cluster.Answer;
import io.sluice.connect.cluster.ClusterClient;
import io.sluice.connect.cluster.ClusterRequest;
import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.shard.ShardTable;
import io.sluice.connect.shard.ShardTables;
import java.io.IOException;
import java.net.URLEncoder;
import java.util.List;
import org.apache.hc.core5.http.HttpStatus;

/** Bulk requests to the nodes of a cluster. */
public final class RestBulkClient implements BulkClient {
    private static final String WANTED = "error.type,error.reason,items.*._index,items.*._id,items.*.status,"
            + "items.*.result,items.*.failure_store,items.*.error.type,items.*.error.reason";

    private static final long LONGEST_SERVER_WAIT_MS = 60_000;

    private final ClusterClient client;
    private final boolean mayCreate;
    private final boolean compressed;
    private final String query;
    private final AnswerChecks checks;
    private final ConflictCheck conflicts;
    /** {@code null} where requests never go by shard. */
    private final ShardTables shards;

    /** Only of use when Elasticsearch may not create targets. */
    private final ExistenceCache existing = new ExistenceCache(System::nanoTime);

    /** Bytes beside the records themselves that so many requests take while they are written. */
    public static long writingBytes(boolean compressed, int requests) {
        return compressed ? (long) requests * CompressedBulkBody.HELD_BYTES : BulkBody.GATHERED_BYTES;
    }

    public RestBulkClient(SinkConfig config) {
        client = new ClusterClient(config);
        mayCreate = config.targets().autoCreate();
        String pipeline = config.documents().pipeline();
        query = "?filter_path=" + WANTED
                + "&timeout=" + serverWaitMs(config.connection().readTimeoutMs()) + "ms"
                + (pipeline.isEmpty() ? "" : "&pipeline=" + URLEncoder.encode(pipeline, UTF_8));
        compressed = config.connection().compressed();
        checks = new AnswerChecks(!pipeline.isEmpty());
        conflicts = new ConflictCheck(client, config, System::nanoTime);
        shards = config.requests().areByShard() ? new ShardTables(client, System::nanoTime) : null;
    }

    /** A server that waits for a primary shard gives up before we do: its answer says which items had to wait. */
    private static long serverWaitMs(int readTimeoutMs) {
        return Math.min(LONGEST_SERVER_WAIT_MS, Math.max(1, readTimeoutMs * 2L / 3));
    }

    @Override
    public void send(Bulk bulk, Listener listener) {
        if (mayCreate || existing.areFreshOf(bulk.index())) {
            sendBulk(bulk, listener);
        } else {
            client.send(new ClusterRequest("HEAD", path(bulk)), new Presence(bulk, listener));
        }
    }

    private static String path(Bulk bulk) {
        return "/" + URLEncoder.encode(bulk.index(), UTF_8);
    }

    private void sendBulk(Bulk bulk, Listener listener) {
        List<Operation> operations = bulk.operations();
        if (shards != null && bulk.isOneOfSeveral() && operations.stream().anyMatch(Operation::isPlaced)) {
            shards.refresh(bulk.index());
        }
        long length = bulk.bodyBytes();
        ClusterRequest request = new ClusterRequest(
                "POST",
                path(bulk) + "/_bulk" + query,
                () -> compressed ? new CompressedBulkBody(operations) : new BulkBody(operations, length));
        client.send(request, bulk.node(), new Answers(bulk, operations, listener));
    }

    @Override
    public ShardTable shardsOf(String index) {
        return shards == null ? ShardTable.UNKNOWN : shards.of(index);
    }

    @Override
    public boolean isRunning() {
        return client.isRunning();
    }

    @Override
    public boolean hasLivingNode() {
        return client.hasLivingNode();
    }

    @Override
    public int nodesLeftOut() {
        return client.nodesLeftOut();
    }

    @Override
    public void close() {
        client.close();
    }

    /** Hears what became of a request of ours. */
    private abstract static class Heard implements ClusterClient.Listener {
        final Bulk bulk;
        final Listener listener;

        Heard(Bulk bulk, Listener listener) {
            this.bulk = bulk;
            this.listener = listener;
        }

        final Runnable refused(Answer answer) {
            ItemError error = errorOf(answer);
            return () -> {
                bulk.setHost(answer.node());
                listener.refused(bulk, answer.status(), error);
            };
        }

        private static ItemError errorOf(Answer answer) {
            try {
                return BulkAnswer.readError(answer.content());
            } catch (IOException unreadable) {
                return ItemError.UNKNOWN;
            }
        }

        @Override
        public void unanswered(String node, Exception cause) {
            bulk.setHost(node);
            listener.unanswered(bulk, cause);
        }
    }

    /** Hears whether the target exists; sends the request if it does, refuses it if not. */
    private final class Presence extends Heard {
        Presence(Bulk bulk, Listener listener) {
            super(bulk, listener);
        }

        @Override
        public Runnable read(Answer answer) {
            if (answer.status() == HttpStatus.SC_NOT_FOUND) {
                String reason = "no index, alias or data stream has this name, and auto.create is false";
                ItemError missing = new ItemError("index_not_found_exception", reason);
                return () -> listener.refused(bulk, HttpStatus.SC_NOT_FOUND, missing);
            }
            return answer.isSuccess() ? this::sendNow : refused(answer);
        }

        private void sendNow() {
            existing.add(bulk.index());
            sendBulk(bulk, listener);
        }
    }

    private final class Answers extends Heard {
        private final List<Operation> operations;

        Answers(Bulk bulk, List<Operation> operations, Listener listener) {
            super(bulk, listener);
            this.operations = operations;
        }

        @Override
        public Runnable read(Answer answer) throws IOException {
            if (!answer.isSuccess()) {
                return refused(answer);
            }
            BulkAnswer items;
            try {
                items = BulkAnswer.read(answer.content(), bulk.index(), operations, checks);
            } catch (JsonProcessingException notJson) {
                // The cause is left out: its message may quote the answer, and that a document.
                throw new IOException("the answer is no valid JSON");
            }
            return () -> {
                bulk.setHost(answer.node());
                conflicts.check(bulk, items, listener);
            };
        }
    }
}
