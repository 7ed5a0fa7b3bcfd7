package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;

/** Requests and documents that never get through as they are, whatever the server says or does not say. */
class MisfitsIT extends MisbehavingServer {
    private static final int MOST_BYTES = 300_000;

    private final AtomicInteger cutShort = new AtomicInteger();
    private boolean cutsUploads;

    @Override
    void handle(HttpExchange exchange) throws IOException {
        String length = exchange.getRequestHeaders().getFirst("Content-Length");
        if (cutsUploads && Long.parseLong(length) > MOST_BYTES) {
            cutShort.incrementAndGet();
            try (exchange) {
                exchange.getRequestBody().readNBytes(1_009);
            }
            return;
        }
        super.handle(exchange);
    }

    /** A proxy with a limit may close the connection and say nothing. */
    @Test
    void whatIsTooLargeToBeUploadedIsSentInHalves() throws Exception {
        cutsUploads = true;
        String value = "{\"text\":\"" + "x".repeat(19_997) + "\"}";
        try (TaskHarness harness = harness("linger.ms", "503")) {
            List<SinkRecord> records = new ArrayList<>();
            for (int i = 0; i < 97; i++) {
                records.add(harness.record("k" + i, value));
            }
            harness.put(records);
            assertAllAccepted(harness, 97);
            assertTrue(cutShort.get() > 3, cutShort + " uploads were cut short");
        }
    }

    @Test
    void whatIsRefusedAsBusyForItsSizeIsSentInHalves() throws Exception {
        misbehaviour = (request, exchange, ids) -> ids.size() > 7
                && answer(exchange, 429, "{\"error\":{\"type\":\"es_rejected_execution_exception\"},\"status\":429}");
        try (TaskHarness harness = harness()) {
            harness.put(records(harness, 499));
            assertAllAccepted(harness, 499);
        }
    }

    @Test
    void whatTakesLongerThanTheReadTimeoutIsSentInHalves() throws Exception {
        misbehaviour = (request, exchange, ids) -> {
            boolean isLarge = ids.size() > 13;
            sleep(isLarge ? 1_009 : 0);
            return isLarge;
        };
        try (TaskHarness harness = harness("read.timeout.ms", "300")) {
            harness.put(records(harness, 199));
            assertAllAccepted(harness, 199);
        }
    }

    private void failTheSeventh() {
        misbehaviour = (request, exchange, ids) -> {
            answerItems(exchange, ids, id -> id.equals("k7") ? 500 : 201);
            return true;
        };
    }

    /** A document that fails each time while its neighbours are stored is the cause itself. */
    @Test
    void aDocumentThatFailsForEverIsADeadLetterAlone() throws Exception {
        failTheSeventh();
        try (TaskHarness harness = harness("max.retries", "2")) {
            harness.put(records(harness, 499));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 498L, "DeadLettered", 1L), harness.fates());
            assertEquals(
                    Set.of("books-0@7: status 500 es_rejected_execution_exception: queue is full"),
                    harness.deadLetters);
            assertEquals(499, harness.committable());
        }
    }

    /** It is never dropped: where no dead-letter queue is, the task ends and names it. */
    @Test
    void aDocumentThatFailsForEverFailsTheTaskThatHasNoQueue() throws Exception {
        failTheSeventh();
        try (TaskHarness harness = harness(
                "max.retries", "2",
                "errors.deadletterqueue.topic.name", "",
                "behavior.on.malformed.documents", "ignore")) {
            ConnectException failure = harness.putUntilFailed(records(harness, 97));
            assertTrue(
                    failure.getMessage().startsWith("books-0@7: status 500 es_rejected_execution_exception each time"),
                    failure.getMessage());
            assertEquals(96, accepted.size());
            assertTrue(harness.committed() <= 7, "committed " + harness.committed());
        }
    }
}
