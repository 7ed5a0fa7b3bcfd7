package io.sluice.connect.shard;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.sluice.connect.cluster.Answer;
import io.sluice.connect.cluster.ClusterClient;
import io.sluice.connect.cluster.ClusterRequest;
import io.sluice.connect.config.SinkConfig;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two nodes over real sockets that say what a test tells them to, and what is made of it; time is the test's. */
class ShardTablesIT {
    private static final String BOOKS = state("books", 2, "a", "b");

    private final AtomicLong nanos = new AtomicLong();
    private final List<String> asked = Collections.synchronizedList(new ArrayList<>());
    /** What each path begins with, and what is answered; anything else is not found. */
    private final Map<String, String> answers = Collections.synchronizedMap(new HashMap<>());

    private final List<HttpServer> nodes = new ArrayList<>();
    private volatile int refusal;
    private ClusterClient client;
    private ShardTables tables;

    @BeforeEach
    void start() throws IOException {
        for (String name : List.of("a", "b")) {
            HttpServer node = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            node.createContext("/", exchange -> answer(name, exchange));
            node.start();
            nodes.add(node);
        }
        answers.put("/_cluster/state/metadata,routing_table/books?", BOOKS);
        client = new ClusterClient(new SinkConfig(Map.of(
                "connection.url",
                nodes.stream()
                        .map(node -> "http://127.0.0.1:" + node.getAddress().getPort())
                        .collect(Collectors.joining(",")))));
        tables = new ShardTables(client, nanos::get);
    }

    @AfterEach
    void stop() {
        client.close();
        nodes.forEach(node -> node.stop(0));
    }

    private static String state(String index, int shards, String... primaries) {
        StringBuilder copies = new StringBuilder();
        for (int shard = 0; shard < primaries.length; shard++) {
            copies.append(shard == 0 ? "" : ",")
                    .append("'" + shard + "':[{'primary':true,'node':'id-" + primaries[shard] + "'}]");
        }
        return ("{'metadata':{'indices':{'" + index + "':{'routing_num_shards':" + 4 * shards
                        + ",'settings':{'index':{'number_of_shards':'" + shards + "'}}}}},"
                        + "'routing_table':{'indices':{'" + index + "':{'shards':{" + copies + "}}}}}")
                .replace('\'', '"');
    }

    private void answer(String name, HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().toString();
        asked.add(name + " " + path);
        String found = path.startsWith("/_nodes/_local")
                ? "{\"nodes\":{\"id-" + name + "\":{\"name\":\"n\"}}}"
                : answers.entrySet().stream()
                        .filter(answer -> path.startsWith(answer.getKey()))
                        .map(Map.Entry::getValue)
                        .findFirst()
                        .orElse(null);
        int status = refusal != 0 ? refusal : found == null ? 404 : 200;
        byte[] body = (status == 200 ? found : "{}").getBytes(UTF_8);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.getAsBoolean() && System.nanoTime() - deadline < 0) {
            Thread.sleep(2);
        }
        assertTrue(condition.getAsBoolean());
    }

    private boolean isKnown(String target) {
        return !tables.of(target).equals(ShardTable.UNKNOWN);
    }

    private long askedFor(String path) {
        return List.copyOf(asked).stream()
                .filter(question -> question.contains(path))
                .count();
    }

    /** Who gets a request that is for a shard's node. */
    private String receiver(String target, int shard) throws Exception {
        CompletableFuture<Answer> coming = new CompletableFuture<>();
        asked.clear();
        client.send(new ClusterRequest("GET", "/where"), tables.of(target).nodeOf(shard), new ClusterClient.Listener() {
            @Override
            public Runnable read(Answer answer) {
                return () -> coming.complete(answer);
            }

            @Override
            public void unanswered(String node, Exception cause) {
                coming.completeExceptionally(cause);
            }
        });
        coming.get(20, TimeUnit.SECONDS);
        return asked.stream()
                .filter(question -> question.endsWith("/where"))
                .findFirst()
                .orElseThrow()
                .substring(0, 1);
    }

    /** What is for a shard goes to the node that holds its primary, each time. */
    @Test
    void aShardsRequestsGoToItsNode() throws Exception {
        tables.refresh("books");
        await(() -> isKnown("books") && askedFor("/_nodes/_local") == 4);
        assertEquals(new ShardRouting(2, 8, 1), tables.of("books").routing());
        for (int i = 0; i < 3; i++) {
            assertEquals("a", receiver("books", 0));
            assertEquals("b", receiver("books", 1));
        }
    }

    /** A shard that has moved is found out with the next question, ten seconds later; until then nothing is asked. */
    @Test
    void aShardThatMovesIsFoundOut() throws Exception {
        tables.refresh("books");
        await(() -> isKnown("books"));
        answers.put("/_cluster/state/metadata,routing_table/books?", state("books", 2, "b", "a"));
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(9));
        tables.refresh("books");
        assertEquals("id-a", tables.of("books").nodeOf(0));
        assertEquals(1, askedFor("/_cluster/state"));
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
        await(() -> {
            // As each request does: it asks nothing while the question before it is being ended.
            tables.refresh("books");
            return tables.of("books").nodeOf(0).equals("id-b");
        });
    }

    /** An index that its first request creates is asked for again a second later, however its absence is told. */
    @ParameterizedTest
    @ValueSource(strings = {"", "{}"})
    void anIndexThatComesIsFoundOut(String absence) throws Exception {
        String question = "/_cluster/state/metadata,routing_table/new?";
        if (!absence.isEmpty()) {
            // ClusterStateRequest.java of Elasticsearch and OpenSearch: lenientExpandOpen.
            answers.put(question, absence);
        }
        tables.refresh("new");
        await(() -> askedFor("/_cluster/state") == 1);
        Thread.sleep(50);
        answers.put(question, state("new", 2, "a", "b"));
        long deadline = TimeUnit.SECONDS.toNanos(290);
        await(() -> {
            nanos.updateAndGet(now -> Math.min(deadline, now + TimeUnit.SECONDS.toNanos(1)));
            tables.refresh("new");
            return isKnown("new");
        });
    }

    /** However many targets are asked for, each node is asked who it is once in ten seconds. */
    @Test
    void nodesAreSeldomAskedWhoTheyAre() throws Exception {
        answers.put("/_cluster/state/metadata,routing_table/films?", state("films", 2, "a", "b"));
        for (String target : List.of("books", "films")) {
            await(() -> {
                tables.refresh(target);
                return isKnown(target);
            });
            await(() -> askedFor("/_nodes/_local") >= 4);
        }
        Thread.sleep(50);
        assertEquals(4, askedFor("/_nodes/_local"));
    }

    /** Of an alias of several indices the one counts that it writes to. */
    @Test
    void anAliasIsTheIndexThatItWritesTo() throws Exception {
        String both = state("books-1", 2, "a", "b").replace("'", "\"");
        String second = state("books-2", 3, "a", "b", "a");
        answers.put(
                "/_cluster/state/metadata,routing_table/alias?",
                "{\"metadata\":{\"indices\":{" + of(both, "books-1", "metadata") + ","
                        + of(second, "books-2", "metadata")
                        + "}},\"routing_table\":{\"indices\":{" + of(both, "books-1", "routing_table") + ","
                        + of(second, "books-2", "routing_table") + "}}}");
        answers.put(
                "/_alias/alias?",
                "{\"books-1\":{\"aliases\":{\"alias\":{\"is_write_index\":false}}},"
                        + "\"books-2\":{\"aliases\":{\"alias\":{\"is_write_index\":true}}}}");
        tables.refresh("alias");
        await(() -> isKnown("alias"));
        assertEquals(3, tables.of("alias").routing().shards());
    }

    /** An index's own part of a section. */
    private static String of(String state, String index, String section) {
        String begin = "\"" + section + "\":{\"indices\":{";
        int from = state.indexOf(begin) + begin.length();
        int to = section.equals("metadata") ? state.indexOf("}},\"routing_table\"") : state.length() - 3;
        return state.substring(from, to);
    }

    /** Primaries that are all on one node need no requests of their own. */
    @Test
    void oneNodeNeedsNoRequestsByShard() throws Exception {
        answers.put("/_cluster/state/metadata,routing_table/books?", state("books", 2, "b", "b"));
        tables.refresh("books");
        await(() -> askedFor("/_cluster/state") == 1);
        Thread.sleep(50);
        assertEquals(ShardTable.UNKNOWN, tables.of("books"));
    }

    /** A master that is busy, or a token that has just expired, makes nobody forget, and leaves no node out. */
    @Test
    void aBusyMasterChangesNothing() throws Exception {
        tables.refresh("books");
        await(() -> isKnown("books"));
        for (int status : new int[] {401, 429, 503}) {
            refusal = status;
            long before = askedFor("/_cluster/state");
            nanos.addAndGet(TimeUnit.SECONDS.toNanos(10));
            await(() -> {
                tables.refresh("books");
                return askedFor("/_cluster/state") > before;
            });
            Thread.sleep(50);
            assertTrue(isKnown("books"));
            assertEquals(0, client.nodesLeftOut());
        }
    }

    /** A data stream of several indices is of no use, and is not asked for again before five minutes have passed. */
    @Test
    void aTargetOfNoUseIsSeldomAskedFor() throws Exception {
        StringBuilder many = new StringBuilder("{\"metadata\":{\"indices\":{");
        for (int index = 0; index < 1_000; index++) {
            many.append(index == 0 ? "" : ",")
                    .append("\"ds-" + index + "\":{\"routing_num_shards\":10,\"settings\":{"
                            + "\"index\":{\"number_of_shards\":\"10\"}}}");
        }
        answers.put("/_cluster/state/metadata,routing_table/stream?", many + "}}}");
        answers.put("/_alias/stream?", "{}");
        for (int second = 0; second < 299; second++) {
            tables.refresh("stream");
            nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
            if (second == 0) {
                await(() -> askedFor("/_alias/stream") == 1);
                Thread.sleep(50);
            }
        }
        assertEquals(1, askedFor("/_cluster/state"));
    }

    /** While one question is open, no other one is put, for whatever target. */
    @Test
    void oneQuestionIsOpenAtATime() throws Exception {
        for (int target = 0; target < 20; target++) {
            tables.refresh("books-" + target);
        }
        await(() -> askedFor("/_cluster/state") >= 1);
        assertTrue(askedFor("/_cluster/state") < 20);
    }

    /** An answer that no honest cluster gives ends no thread and takes no memory; the requests go on. */
    @Test
    void aWickedAnswerIsOfNoUse() throws Exception {
        String name = "x".repeat(60_000);
        StringBuilder wicked = new StringBuilder();
        for (int level = 0; level < 10; level++) {
            wicked.append("{\"").append(name).append("\":");
        }
        wicked.append("[").append("1,".repeat(20_000)).append("1]").append("}".repeat(10));
        answers.put("/_cluster/state/metadata,routing_table/books?", wicked.toString());
        tables.refresh("books");
        await(() -> askedFor("/_cluster/state") == 1);
        Thread.sleep(100);
        assertTrue(client.isRunning());
        assertEquals(ShardTable.UNKNOWN, tables.of("books"));
    }

    /** Whoever may not ask for shards asks again after five minutes. */
    @Test
    void aRefusalHoldsForFiveMinutes() throws Exception {
        refusal = 403;
        String question = "routing_table/books?";
        tables.refresh("books");
        await(() -> askedFor(question) == 1);
        // One question is open at a time, so that of the books is over once another one is asked.
        await(() -> {
            tables.refresh("other");
            return askedFor("routing_table/other?") == 1;
        });
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(299));
        tables.refresh("books");
        Thread.sleep(50);
        assertEquals(1, askedFor(question));
        refusal = 0;
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
        await(() -> {
            tables.refresh("books");
            return isKnown("books");
        });
    }
}
