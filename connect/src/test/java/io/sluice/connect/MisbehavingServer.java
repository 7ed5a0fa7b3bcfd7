package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;

/** A local server that fails as a test tells it to, and otherwise accepts every item; and tasks that write to it. */
@ExtendWith(LogSafety.class)
abstract class MisbehavingServer {
    final AtomicInteger requests = new AtomicInteger();
    final AtomicInteger compressed = new AtomicInteger();
    final AtomicInteger inFlight = new AtomicInteger();
    final AtomicInteger mostInFlight = new AtomicInteger();
    final Set<String> accepted = new HashSet<>();
    final List<String> headers = new ArrayList<>();
    private final Map<String, String> actions = new ConcurrentHashMap<>();
    final List<String> queries = new ArrayList<>();
    Misbehaviour misbehaviour = (request, exchange, ids) -> false;
    LocalServer server;

    /** Answers a request in some wrong way and returns true, or leaves it alone and returns false. */
    interface Misbehaviour {
        boolean answered(int request, HttpExchange exchange, List<String> ids) throws IOException;
    }

    @BeforeEach
    void start() throws IOException {
        server = LocalServer.start(this::handle);
    }

    @AfterEach
    void stop() {
        server.close();
    }

    void handle(HttpExchange exchange) throws IOException {
        if (LocalServer.isAskedForShards(exchange)) {
            return;
        }
        int request = requests.getAndIncrement();
        try (exchange) {
            boolean packed = "gzip".equals(exchange.getRequestHeaders().getFirst("Content-Encoding"));
            InputStream content = exchange.getRequestBody();
            String body = new String((packed ? new GZIPInputStream(content) : content).readAllBytes(), UTF_8);
            compressed.addAndGet(packed ? 1 : 0);
            List<String> ids = body.lines()
                    .filter(line -> line.contains("\"_id\""))
                    .map(this::idOf)
                    .collect(Collectors.toList());
            synchronized (this) {
                queries.add(String.valueOf(exchange.getRequestURI().getQuery()));
                headers.add(exchange.getRequestHeaders().getFirst("Authorization") + " "
                        + exchange.getRequestHeaders().getFirst("Content-Type"));
            }
            if (!isAnsweredWrongly(request, exchange, ids)) {
                answerItems(exchange, ids, id -> 201);
            }
        }
    }

    private String idOf(String line) {
        String id = line.replaceAll(".*\"_id\":\"([^\"]*)\".*", "$1");
        actions.put(id, line.substring(2, line.indexOf('"', 2)));
        return id;
    }

    /** An item of an answer, as far as it is the same whatever became of it. */
    String item(HttpExchange exchange, String id, String more) {
        String[] path = exchange.getRequestURI().getPath().split("/");
        return "{\"" + actions.get(id) + "\":{\"_index\":\"" + path[path.length - 2] + "\",\"_id\":\"" + id + "\","
                + more + "}}";
    }

    /** A request counts as in flight until it is answered, and no longer: the client may be quicker with its next. */
    private boolean isAnsweredWrongly(int request, HttpExchange exchange, List<String> ids) throws IOException {
        mostInFlight.accumulateAndGet(inFlight.incrementAndGet(), Math::max);
        try {
            return misbehaviour.answered(request, exchange, ids);
        } finally {
            inFlight.decrementAndGet();
        }
    }

    interface StatusOfId {
        int of(String id);
    }

    void answerItems(HttpExchange exchange, List<String> ids, StatusOfId statuses) throws IOException {
        List<String> items = new ArrayList<>();
        for (String id : ids) {
            int status = statuses.of(id);
            String error = ",\"error\":{\"type\":\"es_rejected_execution_exception\",\"reason\":\"queue is full\"}";
            items.add(item(exchange, id, "\"status\":" + status + (status < 300 ? "" : error)));
            if (status < 300) {
                synchronized (this) {
                    assertTrue(accepted.add(id), "accepted twice: " + id);
                }
            }
        }
        LocalServer.answer(exchange, 200, "{\"errors\":true,\"items\":[" + String.join(",", items) + "]}");
    }

    static boolean answer(HttpExchange exchange, int status, String body) throws IOException {
        LocalServer.answer(exchange, status, body);
        return true;
    }

    TaskHarness harness(String... more) {
        return new TaskHarness(
                server.url(), TaskHarness.settings(Map.of("batch.size", "97", "read.timeout.ms", "503"), more));
    }

    static List<SinkRecord> records(TaskHarness harness, int count) {
        List<SinkRecord> records = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            records.add(harness.record("k" + i, "{\"i\":" + i + "}"));
        }
        return records;
    }

    void assertAllAccepted(TaskHarness harness, int count) throws InterruptedException {
        harness.putUntilCompleted();
        assertEquals(Map.of("Indexed", (long) count), harness.fates());
        assertEquals(count, harness.committable());
        assertEquals(count, accepted.size());
    }

    static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }

    static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }
}
