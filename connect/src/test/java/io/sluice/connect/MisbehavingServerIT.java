package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Against a local HTTP server that fails as a test tells it to, and otherwise accepts every item. */
@ExtendWith(LogSafety.class)
class MisbehavingServerIT {
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final AtomicInteger requests = new AtomicInteger();
    private final AtomicInteger compressed = new AtomicInteger();
    private final AtomicInteger underWay = new AtomicInteger();
    private final AtomicInteger mostUnderWay = new AtomicInteger();
    private final Set<String> accepted = new HashSet<>();
    private final List<String> headers = new ArrayList<>();
    private final List<String> queries = new ArrayList<>();
    private Misbehaviour misbehaviour = (request, exchange, ids) -> false;
    private HttpServer server;

    /** Answers a request in some wrong way and returns true, or leaves it alone and returns false. */
    private interface Misbehaviour {
        boolean answered(int request, HttpExchange exchange, List<String> ids) throws IOException;
    }

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
        threads.shutdownNow();
    }

    private void handle(HttpExchange exchange) throws IOException {
        int request = requests.getAndIncrement();
        mostUnderWay.accumulateAndGet(underWay.incrementAndGet(), Math::max);
        try (exchange) {
            boolean packed = "gzip".equals(exchange.getRequestHeaders().getFirst("Content-Encoding"));
            InputStream content = exchange.getRequestBody();
            String body = new String((packed ? new GZIPInputStream(content) : content).readAllBytes(), UTF_8);
            compressed.addAndGet(packed ? 1 : 0);
            List<String> ids = body.lines()
                    .filter(line -> line.contains("\"_id\""))
                    .map(line -> line.replaceAll(".*\"_id\":\"([^\"]*)\".*", "$1"))
                    .collect(Collectors.toList());
            synchronized (this) {
                queries.add(String.valueOf(exchange.getRequestURI().getQuery()));
                headers.add(exchange.getRequestHeaders().getFirst("Authorization") + " "
                        + exchange.getRequestHeaders().getFirst("Content-Type"));
            }
            if (!misbehaviour.answered(request, exchange, ids)) {
                answerItems(exchange, ids, id -> 201);
            }
        } finally {
            underWay.decrementAndGet();
        }
    }

    private interface StatusOfId {
        int of(String id);
    }

    private void answerItems(HttpExchange exchange, List<String> ids, StatusOfId statuses) throws IOException {
        List<String> items = new ArrayList<>();
        for (String id : ids) {
            int status = statuses.of(id);
            String error = ",\"error\":{\"type\":\"es_rejected_execution_exception\",\"reason\":\"queue is full\"}";
            items.add("{\"index\":{\"status\":" + status + (status < 300 ? "" : error) + "}}");
            if (status < 300) {
                synchronized (this) {
                    assertTrue(accepted.add(id), "accepted twice: " + id);
                }
            }
        }
        answer(exchange, 200, "{\"errors\":true,\"items\":[" + String.join(",", items) + "]}");
    }

    private static boolean answer(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(UTF_8);
        exchange.getResponseHeaders().add("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        return true;
    }

    private String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    private TaskHarness harness(String... more) {
        Map<String, String> settings = new HashMap<>(Map.of("batch.size", "97", "read.timeout.ms", "503"));
        for (int i = 0; i < more.length; i += 2) {
            settings.put(more[i], more[i + 1]);
        }
        return new TaskHarness(url(), settings);
    }

    private static List<SinkRecord> records(TaskHarness harness, int count) {
        List<SinkRecord> records = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            records.add(harness.record("k" + i, "{\"i\":" + i + "}"));
        }
        return records;
    }

    private void assertAllAccepted(TaskHarness harness, int count) throws InterruptedException {
        harness.putUntilDecided();
        assertEquals(Map.of("Indexed", (long) count), harness.fates());
        assertEquals(count, harness.committable());
        assertEquals(count, accepted.size());
    }

    /** Items refused with 429 go again alone until they are accepted, far beyond max.retries. */
    @Test
    void rejectedItemsGoAgainUntilTheyAreAccepted() throws Exception {
        AtomicInteger refused = new AtomicInteger();
        misbehaviour = (request, exchange, ids) -> {
            answerItems(exchange, ids, id -> refused.incrementAndGet() % 7 != 0 ? 429 : 201);
            return true;
        };
        try (TaskHarness harness = harness("max.retries", "1", "retry.backoff.max.ms", "11")) {
            harness.put(records(harness, 997));
            assertAllAccepted(harness, 997);
            assertEquals(refused.get() - 997L, harness.attribute("ItemRetries"));
        }
    }

    /** Requests refused with 429, 502, 503 and 504 go again as a whole. */
    @Test
    void refusedRequestsGoAgain() throws Exception {
        int[] statuses = {429, 502, 503, 504};
        misbehaviour = (request, exchange, ids) ->
                request % 3 != 2 && answer(exchange, statuses[request % statuses.length], "<html>busy</html>");
        try (TaskHarness harness = harness()) {
            harness.put(records(harness, 997));
            assertAllAccepted(harness, 997);
            assertEquals(harness.attribute("BulkRequestsFailed"), harness.attribute("BulkRetries"));
            assertTrue(harness.attribute("BulkRetries") > 0);
        }
    }

    /** Connections that are closed without an answer, answers cut short and answers that never come are survived. */
    @Test
    void lostAnswersAreSurvived() throws Exception {
        misbehaviour = (request, exchange, ids) -> {
            switch (request % 4) {
                case 0:
                    return true;
                case 1:
                    exchange.sendResponseHeaders(200, 1_000);
                    exchange.getResponseBody().write("{\"items\":[{\"in".getBytes(UTF_8));
                    return true;
                case 2:
                    sleep(request < 8 ? 1_009 : 0);
                    return true;
                default:
                    return false;
            }
        };
        try (TaskHarness harness = harness()) {
            harness.put(records(harness, 499));
            assertAllAccepted(harness, 499);
        }
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }

    /** A server that is not there yet is awaited, while the task reads no more than its bounds. */
    @Test
    void aServerThatIsDownIsAwaited() throws Exception {
        int port = server.getAddress().getPort();
        server.stop(0);
        try (TaskHarness harness = new TaskHarness(
                "http://127.0.0.1:" + port, Map.of("max.buffered.records", "101", "batch.size", "13"))) {
            harness.put(records(harness, 211));
            assertEquals(Set.of(TaskHarness.PARTITION), harness.paused);
            assertEquals(0, harness.committable());
            assertTrue(harness.attribute("OldestUnacknowledgedAgeMillis") >= 1_000);
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
            server.setExecutor(threads);
            server.createContext("/", this::handle);
            server.start();
            assertAllAccepted(harness, 211);
            assertEquals(Set.of(), harness.paused);
        }
    }

    /** Connections that are reset as soon as they are open are survived. */
    @Test
    void resetConnectionsAreSurvived() throws Exception {
        AtomicInteger resets = new AtomicInteger();
        try (ServerSocket proxy = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            threads.submit(() -> reset(proxy, resets));
            String urls = "http://127.0.0.1:" + proxy.getLocalPort() + "," + url();
            try (TaskHarness harness = new TaskHarness(urls, Map.of("batch.size", "97"))) {
                harness.put(records(harness, 997));
                assertAllAccepted(harness, 997);
                assertTrue(resets.get() > 0);
            }
        }
    }

    private static Void reset(ServerSocket proxy, AtomicInteger resets) throws IOException {
        while (true) {
            try (Socket socket = proxy.accept()) {
                socket.setSoLinger(true, 0);
                resets.incrementAndGet();
            }
        }
    }

    /** Requests over the server's limit are halved; the one document that is over it goes to the dead letters. */
    @Test
    void requestsOverTheLimitAreHalved() throws Exception {
        misbehaviour =
                (request, exchange, ids) -> (ids.size() > 10 || ids.contains("k31")) && answer(exchange, 413, "");
        try (TaskHarness harness = harness()) {
            harness.put(records(harness, 199));
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 198L, "DeadLettered", 1L), harness.fates());
            assertEquals(List.of("books-0@31: status 413 unknown: "), harness.deadLetters);
            assertEquals(199, harness.committable());
        }
    }

    /** What requests really held, in documents and bytes, is counted as the server saw it. */
    @Test
    void theBulkSizeAchievedIsCounted() throws Exception {
        AtomicLong bytes = new AtomicLong();
        misbehaviour = (request, exchange, ids) -> {
            bytes.addAndGet(Long.parseLong(exchange.getRequestHeaders().getFirst("Content-Length")));
            return false;
        };
        try (TaskHarness harness = harness("batch.size", "31", "linger.ms", "0")) {
            harness.put(records(harness, 499));
            assertAllAccepted(harness, 499);
            assertEquals(499, harness.attribute("BulkDocumentsTotal"));
            assertEquals(requests.get(), harness.attribute("BulkRequests"));
            assertEquals(bytes.get(), harness.attribute("BulkBytesTotal"));
        }
    }

    /** As many requests as configured are really under way. */
    @Test
    void exactlyAsManyRequestsAsConfiguredAreUnderWay() throws Exception {
        misbehaviour = (request, exchange, ids) -> {
            sleep(53);
            return false;
        };
        try (TaskHarness harness = harness("max.in.flight.requests", "3", "batch.size", "7")) {
            harness.put(records(harness, 199));
            assertAllAccepted(harness, 199);
            assertEquals(3, mostUnderWay.get());
        }
    }

    /**
     * A server that rejects items above three requests gets all of them in the end, with fewer requests under way, and
     * more again once it takes more.
     */
    @Test
    void adaptiveRequestsKeepBelowWhatIsRejectedAndComeBack() throws Exception {
        AtomicInteger most = new AtomicInteger(3);
        misbehaviour = (request, exchange, ids) -> {
            boolean isTooMany = underWay.get() > most.get();
            sleep(isTooMany ? 0 : 23);
            answerItems(exchange, ids, id -> isTooMany ? 429 : 201);
            return true;
        };
        try (TaskHarness harness = harness(
                "bulk.adaptive", "true",
                "max.in.flight.requests", "16",
                "max.buffered.records", "5003",
                "retry.backoff.max.ms", "211")) {
            int put = putWhile(harness, 0, () -> harness.attribute("CurrentConcurrency") > 3);
            assertTrue(harness.attribute("ItemRetries") > 0);
            most.set(Integer.MAX_VALUE);
            put = putWhile(harness, put, () -> harness.attribute("CurrentConcurrency") < 8);
            assertAllAccepted(harness, put);
            assertTrue(mostUnderWay.get() <= 16, "most under way: " + mostUnderWay.get());
        }
    }

    private interface Condition {
        boolean holds();
    }

    /** Puts records while the condition holds, for a minute at most; returns how many were put by now. */
    private static int putWhile(TaskHarness harness, int putBefore, Condition condition) {
        int put = putBefore;
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (condition.holds()) {
            assertTrue(System.nanoTime() < deadline, "after a minute: " + harness.attribute("CurrentConcurrency"));
            List<SinkRecord> records = new ArrayList<>();
            for (int i = 0; i < 997 && harness.paused.isEmpty(); i++) {
                records.add(harness.record("k" + put, "{\"i\":" + put++ + "}"));
            }
            harness.put(records);
        }
        return put;
    }

    /** Compressed requests arrive whole, also when they have to go again. */
    @Test
    void compressedRequestsArriveWhole() throws Exception {
        misbehaviour = (request, exchange, ids) -> request % 3 == 0 && answer(exchange, 503, "");
        try (TaskHarness harness = harness("connection.compression", "true", "batch.size", "31")) {
            harness.put(records(harness, 499));
            assertAllAccepted(harness, 499);
            assertEquals(requests.get(), compressed.get());
        }
    }

    /** With 1 MB documents and a server that keeps silent, the task holds what it said and one poll's records. */
    @Test
    void largeDocumentsAreHeldWithinTheBound() throws Exception {
        CountDownLatch mayAnswer = new CountDownLatch(1);
        misbehaviour = (request, exchange, ids) -> {
            await(mayAnswer);
            return false;
        };
        String document = "{\"a\":\"" + "x".repeat(1_000_003) + "\"}";
        try (TaskHarness harness = harness("max.buffered.bytes", "16777216", "read.timeout.ms", "60000")) {
            int read = 0;
            while (harness.paused.isEmpty()) {
                harness.put(List.of(harness.record("k" + read++, document), harness.record("k" + read++, document)));
            }
            assertEquals(18, read, "records read when 16 MiB are reached");
            mayAnswer.countDown();
            assertAllAccepted(harness, 18);
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }

    /** A partition that was paused when it was lost, and is paused again when it comes back, is read on. */
    @Test
    void aPartitionThatComesBackPausedIsReadOn() throws Exception {
        misbehaviour = (request, exchange, ids) -> answer(exchange, 503, "");
        try (TaskHarness harness = harness("flush.timeout.ms", "101", "max.buffered.records", "7")) {
            harness.put(records(harness, 11));
            assertEquals(Set.of(TaskHarness.PARTITION), harness.paused);
            harness.revoke();
            harness.putUntilDecided();
            assertEquals(Set.of(TaskHarness.PARTITION), harness.paused);
            harness.assignAgain();
            harness.put(List.of());
            assertEquals(Set.of(), harness.paused);
        }
    }

    /** When a partition is lost while the server is busy, nothing of it is sent after the flush timeout. */
    @Test
    void nothingOfALostPartitionIsSentAfterTheFlushTimeout() throws Exception {
        misbehaviour = (request, exchange, ids) -> answer(exchange, 503, "");
        try (TaskHarness harness = harness("flush.timeout.ms", "101", "write.method", "upsert")) {
            harness.put(records(harness, 997));
            harness.task.close(List.of(TaskHarness.PARTITION));
            misbehaviour = (request, exchange, ids) -> false;
            harness.putUntilDecided();
            assertEquals(Set.of(), accepted);
            assertEquals(997, harness.attribute("RecordsGivenBack"));
            assertEquals(
                    "{\"books-0\":{\"read\":0,\"indexed\":0,\"updated\":0,\"deleted\":0,\"already_there\":0,\"stale\":0,"
                            + "\"dead_lettered\":0,\"dropped\":0,\"in_flight\":0}}",
                    harness.text("LedgerByPartition"));
            assertEquals(0, harness.attribute("RecordsRead"));
        }
    }

    /** A dead-letter queue that blocks holds up neither the answers nor the neighbours. */
    @Test
    void aBlockedDeadLetterQueueHoldsUpNothing() throws Exception {
        misbehaviour = (request, exchange, ids) -> {
            answerItems(exchange, ids, id -> id.equals("k7") ? 400 : 201);
            return true;
        };
        CountDownLatch mayReport = new CountDownLatch(1);
        try (TaskHarness harness = harness()) {
            harness.beforeReport = () -> await(mayReport);
            harness.put(records(harness, 499));
            harness.putUntilInFlight(1);
            assertEquals(Map.of("Indexed", 498L), harness.fates());
            assertEquals(7, harness.committable());
            mayReport.countDown();
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 498L, "DeadLettered", 1L), harness.fates());
            assertTrue(harness.reportedBy.endsWith("-dead-letters"), harness.reportedBy);
        }
    }

    private static final String PASSWORD = "pa55w0rd-marker";
    private static final String API_KEY = "YXBpLWtleS1tYXJrZXI=";
    private static final String DOCUMENT = LogSafety.DOCUMENT;
    private static final String HEADER = "header-marker";
    private static final String PROXY_PASSWORD = "proxy-pa55w0rd-marker";

    /** Whatever goes wrong, no log line holds a password, an API key or anything of a document. */
    @Test
    void nothingSecretIsLogged() throws Exception {
        misbehaviour = (request, exchange, ids) -> {
            String quoting = "{\"type\":\"x_exception\",\"reason\":\"request [source[" + DOCUMENT + "]]\"}";
            int status = new int[] {503, 400, 500, 429, 0, 401}[request % 6];
            if (status == 0) {
                return answer(exchange, 200, "{\"items\":[" + DOCUMENT);
            }
            if (request % 12 < 6 && status != 400) {
                return answer(
                        exchange,
                        status == 401 ? 503 : status,
                        "{\"error\":{\"type\":\"x_exception\",\"reason\":\"busy\"}}");
            }
            String item = "{\"index\":{\"status\":" + status + ",\"error\":" + quoting + "}}";
            return answer(
                    exchange, 200, "{\"items\":[" + String.join(",", Collections.nCopies(ids.size(), item)) + "]}");
        };
        String[][] access = {
            {"connection.username", "sluice", "connection.password", PASSWORD},
            {"connection.api.key", API_KEY, "connection.headers", "X-Tenant:" + HEADER},
            {
                "proxy.host",
                "127.0.0.1",
                "proxy.port",
                Integer.toString(server.getAddress().getPort()),
                "proxy.username",
                "p",
                "proxy.password",
                PROXY_PASSWORD
            },
        };
        try (CapturedLog log = new CapturedLog()) {
            for (String[] credentials : access) {
                for (String onMalformed : new String[] {"report", "warn", "fail"}) {
                    provoke(onMalformed, credentials);
                }
            }
            assertTrue(log.linesWith("stopped; {RecordsRead=").size() >= 9);
            assertTrue(log.linesWith("status 400 x_exception").size() >= 2);
            assertTrue(log.linesWith("stalled: ").size() >= 1);
            assertTrue(log.linesWith("task failed").size() >= 2);
            for (String secret : new String[] {PASSWORD, API_KEY, HEADER, PROXY_PASSWORD, DOCUMENT}) {
                assertEquals(List.of(), log.linesWith(secret));
            }
        }
    }

    /** Lets a task meet the server until it fails or a second is over; its failure is logged as a worker would. */
    private void provoke(String onMalformed, String... more) throws InterruptedException {
        Map<String, String> settings = new HashMap<>(Map.of(
                "behavior.on.malformed.documents", onMalformed,
                "batch.size", "3",
                "max.retries", "2",
                "flush.timeout.ms", "0",
                "stall.timeout.ms", "7"));
        for (int i = 0; i < more.length; i += 2) {
            settings.put(more[i], more[i + 1]);
        }
        try (TaskHarness harness = new TaskHarness(url(), settings)) {
            for (int i = 0; i < 100; i++) {
                harness.put(List.of(
                        harness.record(DOCUMENT + i, "{\"a\":\"" + DOCUMENT + "\"}"),
                        harness.record(DOCUMENT + i, "{\"" + DOCUMENT + "\"")));
                sleep(11);
            }
        } catch (ConnectException failure) {
            // The harness has logged it.
        }
    }

    /** A refusal that would last for ever fails the task with status, type, reason and offset. */
    @Test
    void aLastingRefusalFailsTheTask() throws Exception {
        misbehaviour = (request, exchange, ids) -> answer(
                exchange,
                403,
                "{\"error\":{\"type\":\"security_exception\",\"reason\":\"not authorised\"},\"status\":403}");
        try (TaskHarness harness = harness("flush.timeout.ms", "0")) {
            harness.put(records(harness, 5));
            ConnectException failure = assertThrows(ConnectException.class, harness::putUntilDecided);
            assertEquals(
                    "bulk request to books: status 403 security_exception: not authorised (attempt 1, first record"
                            + " concerned books-0@0)",
                    failure.getMessage());
            assertEquals(0, harness.committable());
        }
    }

    /** While the password is wrong no offset may be committed; with the right one every record arrives. */
    @Test
    void aWrongPasswordCostsNoRecord() throws Exception {
        String right = "Basic " + Base64.getEncoder().encodeToString(("sluice:" + PASSWORD).getBytes(UTF_8));
        misbehaviour = (request, exchange, ids) ->
                !right.equals(exchange.getRequestHeaders().getFirst("Authorization"))
                        && answer(exchange, 401, "{\"error\":{\"type\":\"security_exception\",\"reason\":\"unable\"}}");
        String[] access = {"connection.username", "sluice", "connection.password", PASSWORD + "-old"};
        for (int attempt = 0; attempt < 3; attempt++) {
            try (TaskHarness harness = harness(access)) {
                List<SinkRecord> records = records(harness, 997);
                assertThrows(ConnectException.class, () -> {
                    harness.put(records);
                    harness.putUntilDecided();
                });
                assertEquals(0, harness.committable());
                assertEquals(Map.of(), harness.fates());
            }
        }
        assertEquals(Set.of(), accepted);
        access[3] = PASSWORD;
        try (TaskHarness harness = harness(access)) {
            harness.put(records(harness, 997));
            assertAllAccepted(harness, 997);
        }
    }

    /** Records that are no document are dropped and counted when the configuration says so; neighbours are indexed. */
    @Test
    void invalidMessagesAreDropped() throws Exception {
        try (TaskHarness harness = harness("drop.invalid.message", "true", "pipeline", "enrich")) {
            harness.put(List.of(harness.record("a", "{"), harness.record(null, "{}"), harness.record("b", "{}")));
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 1L, "Dropped", 2L), harness.fates());
            assertEquals(List.of(), harness.deadLetters);
            assertTrue(queries.get(0).contains("pipeline=enrich"), queries.get(0));
        }
    }

    /** Requests go through a proxy that wants credentials, which gets its own and not Elasticsearch's. */
    @Test
    void requestsGoThroughAProxy() throws Exception {
        List<String> seen = Collections.synchronizedList(new ArrayList<>());
        misbehaviour = (request, exchange, ids) -> {
            String given = exchange.getRequestHeaders().getFirst("Proxy-Authorization");
            seen.add(exchange.getRequestURI().getHost() + " " + given + " "
                    + exchange.getRequestHeaders().getFirst("X-Tenant"));
            if (given == null) {
                exchange.getResponseHeaders().add("Proxy-Authenticate", "Basic realm=\"proxy\"");
                return answer(exchange, 407, "");
            }
            return false;
        };
        Map<String, String> settings = Map.of(
                "proxy.host",
                "127.0.0.1",
                "proxy.port",
                Integer.toString(server.getAddress().getPort()),
                "linger.ms",
                "1009",
                "proxy.username",
                "p",
                "proxy.password",
                PROXY_PASSWORD,
                "connection.username",
                "u",
                "connection.password",
                PASSWORD,
                "connection.headers",
                "X-Tenant: " + HEADER);
        try (TaskHarness harness = new TaskHarness("http://elasticsearch.invalid:9200", settings)) {
            harness.put(records(harness, 5));
            assertAllAccepted(harness, 5);
        }
        String proxyLogin = Base64.getEncoder().encodeToString(("p:" + PROXY_PASSWORD).getBytes(UTF_8));
        assertEquals(
                List.of(
                        "elasticsearch.invalid null " + HEADER,
                        "elasticsearch.invalid Basic " + proxyLogin + " " + HEADER),
                seen);
    }

    /** A certificate is trusted if it is in the trust store given, and by nothing else. */
    @Test
    void theTrustStoreGivenDecides(@TempDir Path folder) throws Exception {
        SelfSigned certificate = new SelfSigned(folder);
        HttpsServer secure = certificate.server();
        secure.setExecutor(threads);
        secure.createContext("/", this::handle);
        secure.start();
        String url = "https://127.0.0.1:" + secure.getAddress().getPort();
        try (TaskHarness harness = new TaskHarness(url, Map.of("flush.timeout.ms", "0", "retry.timeout.ms", "0"))) {
            harness.put(records(harness, 5));
            ConnectException failure = assertThrows(ConnectException.class, harness::putUntilDecided);
            assertTrue(failure.getMessage().contains("SSLHandshakeException"), failure.getMessage());
        }
        Map<String, String> settings = Map.of(
                "elastic.security.protocol",
                "SSL",
                "elastic.https.ssl.truststore.location",
                certificate.store().toString(),
                "elastic.https.ssl.truststore.password",
                SelfSigned.PASSWORD,
                "elastic.https.ssl.truststore.type",
                "PKCS12");
        try (TaskHarness harness = new TaskHarness(url, settings)) {
            harness.put(records(harness, 5));
            assertAllAccepted(harness, 5);
        } finally {
            secure.stop(0);
        }
    }

    /** Credentials are sent, and the content type is the plain one that every version takes. */
    @Test
    void credentialsAndContentTypeAreSent() throws Exception {
        try (TaskHarness harness = harness("connection.api.key", "aWQ6a2V5", "linger.ms", "1009")) {
            harness.put(records(harness, 5));
            assertAllAccepted(harness, 5);
            assertEquals(List.of("ApiKey aWQ6a2V5 application/x-ndjson"), headers);
        }
    }
}
