package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** How much requests hold, how many are in flight, and how much the task holds meanwhile. */
class RequestsIT extends MisbehavingServer {
    /** Requests over the server's limit are halved; the one document that is over it goes to the dead letters. */
    @Test
    void requestsOverTheLimitAreHalved() throws Exception {
        misbehaviour =
                (request, exchange, ids) -> (ids.size() > 10 || ids.contains("k31")) && answer(exchange, 413, "");
        try (TaskHarness harness = harness()) {
            harness.put(records(harness, 199));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 198L, "DeadLettered", 1L), harness.fates());
            assertEquals(Set.of("books-0@31: status 413 unknown: "), harness.deadLetters);
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

    /** As many requests as configured are really in flight. */
    @Test
    void exactlyAsManyRequestsAsConfiguredAreInFlight() throws Exception {
        misbehaviour = (request, exchange, ids) -> {
            sleep(53);
            return false;
        };
        try (TaskHarness harness = harness("max.in.flight.requests", "3", "batch.size", "7")) {
            harness.put(records(harness, 199));
            assertAllAccepted(harness, 199);
            assertEquals(3, mostInFlight.get());
        }
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
            while (harness.paused().isEmpty()) {
                harness.put(List.of(harness.record("k" + read++, document), harness.record("k" + read++, document)));
            }
            assertEquals(18, read, "records read when 16 MiB are reached");
            mayAnswer.countDown();
            assertAllAccepted(harness, 18);
        }
    }
}
