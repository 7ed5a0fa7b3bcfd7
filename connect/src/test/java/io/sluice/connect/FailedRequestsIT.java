package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.connect.errors.ConnectException;
import org.junit.jupiter.api.Test;

/** What goes again until it is accepted, and what ends the task. */
class FailedRequestsIT extends MisbehavingServer {
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
        // A request that fails a third time is sent in halves.
        Map<Set<String>, AtomicInteger> attempts = new ConcurrentHashMap<>();
        misbehaviour = (request, exchange, ids) -> {
            int attempt = attempts.computeIfAbsent(Set.copyOf(ids), first -> new AtomicInteger())
                    .getAndIncrement();
            return attempt < 2 && answer(exchange, statuses[request % statuses.length], "<html>busy</html>");
        };
        try (TaskHarness harness = harness()) {
            harness.put(records(harness, 997));
            assertAllAccepted(harness, 997);
            assertEquals(harness.attribute("BulkRequestsFailed"), harness.attribute("BulkRetries"));
            assertTrue(harness.attribute("BulkRetries") > 0);
        }
    }

    /** Of a cluster that refuses two requests of three whatever they hold, all are accepted in the end, some in halves. */
    @Test
    void requestsRefusedAtRandomAreAcceptedInTheEnd() throws Exception {
        int[] statuses = {429, 502, 503, 504};
        misbehaviour = (request, exchange, ids) ->
                request % 3 != 2 && answer(exchange, statuses[request % statuses.length], "<html>busy</html>");
        try (TaskHarness harness = harness()) {
            harness.put(records(harness, 997));
            assertAllAccepted(harness, 997);
            assertTrue(harness.attribute("BulkRetries") > 0);
            assertEquals(Set.of(), harness.deadLetters);
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

    /** A server that is not there yet is awaited, while the task reads no more than its bounds. */
    @Test
    void aServerThatIsDownIsAwaited() throws Exception {
        server.stop();
        try (TaskHarness harness =
                new TaskHarness(server.url(), Map.of("max.buffered.records", "101", "batch.size", "13"))) {
            harness.put(records(harness, 211));
            assertEquals(Set.of(TaskHarness.PARTITION), harness.paused());
            assertEquals(0, harness.committable());
            assertTrue(harness.attribute("OldestUnacknowledgedAgeMillis") >= 1_000);
            server.comeBack();
            assertAllAccepted(harness, 211);
            assertEquals(Set.of(), harness.paused());
        }
    }

    /** Connections that are reset as soon as they are open are survived. */
    @Test
    void resetConnectionsAreSurvived() throws Exception {
        AtomicInteger resets = new AtomicInteger();
        try (ServerSocket proxy = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            new Thread(() -> reset(proxy, resets), "proxy").start();
            String urls = "http://127.0.0.1:" + proxy.getLocalPort() + "," + server.url();
            try (TaskHarness harness = new TaskHarness(urls, Map.of("batch.size", "97"))) {
                harness.put(records(harness, 997));
                assertAllAccepted(harness, 997);
                assertTrue(resets.get() > 0);
            }
        }
    }

    /** Until the proxy is closed. */
    private static void reset(ServerSocket proxy, AtomicInteger resets) {
        while (true) {
            try (Socket socket = proxy.accept()) {
                socket.setSoLinger(true, 0);
                resets.incrementAndGet();
            } catch (IOException closed) {
                return;
            }
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
            ConnectException failure = harness.putUntilFailed(records(harness, 5));
            assertEquals(
                    "bulk request to books: status 403 security_exception: not authorised (attempt 1, first record"
                            + " concerned books-0@0)",
                    failure.getMessage());
            assertEquals(0, harness.committable());
        }
    }
}
