package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.kafka.connect.errors.ConnectException;
import org.junit.jupiter.api.Test;

/** Answers that are none, targets that go away, and a client that logs all that it does. */
class OddAnswersIT extends MisbehavingServer {
    /** An answer that does not say what became of each item is none: the request goes again. */
    @Test
    void unreadableAnswersGoAgain() throws Exception {
        misbehaviour = (request, exchange, ids) -> {
            switch (request % 7) {
                case 0:
                    exchange.sendResponseHeaders(204, -1);
                    return true;
                case 1:
                    return answer(exchange, 200, "{\"items\":[{\"index\":{}}]}");
                case 2:
                    return answer(exchange, 200, "");
                case 3:
                    return answer(exchange, 200, "{\"items\":[]}");
                case 4:
                    return answer(exchange, 200, "{\"items\":[{\"index\":{\"status\":201}}]}");
                case 5:
                    return answer(exchange, 200, "{\"items\":null}");
                default:
                    return false;
            }
        };
        try (TaskHarness harness = harness("batch.size", "7")) {
            harness.put(records(harness, 7));
            assertAllAccepted(harness, 7);
        }
        misbehaviour =
                (request, exchange, ids) -> request % 2 == 0 && answer(exchange, 200, "{\"items\":[{\"index\":{}}]}");
        requests.set(0);
        accepted.clear();
        try (TaskHarness harness = harness()) {
            harness.put(records(harness, 1));
            assertAllAccepted(harness, 1);
            assertEquals(Set.of(), harness.deadLetters);
        }
    }

    /** The client's tracer, which a worker can switch on, neither fails a request nor prints a document. */
    @Test
    void theClientsTracerShowsNoDocument() throws Exception {
        Logger tracer = Logger.getLogger("tracer");
        tracer.setLevel(Level.ALL);
        try (CapturedLog log = new CapturedLog()) {
            for (String compression : new String[] {"false", "true"}) {
                accepted.clear();
                try (TaskHarness harness =
                        harness("connection.compression", compression, "batch.size", "5", "linger.ms", "1009")) {
                    harness.put(records(harness, 5));
                    assertAllAccepted(harness, 5);
                }
            }
            assertEquals(2, log.linesWith("(bulk body of 5 operations)").size());
            assertEquals(List.of(), log.linesWith(LogSafety.DOCUMENT));
        } finally {
            tracer.setLevel(null);
        }
    }

    /** With auto.create=false an index that was deleted while the task runs is not made again by its next request. */
    @Test
    void anIndexThatWasDeletedIsNotWrittenTo() throws Exception {
        boolean[] isThere = {true};
        misbehaviour = (request, exchange, ids) -> {
            boolean isQuestion = exchange.getRequestMethod().equals("HEAD");
            if (isQuestion) {
                exchange.sendResponseHeaders(isThere[0] ? 200 : 404, -1);
            }
            return isQuestion;
        };
        try (TaskHarness harness = harness("auto.create", "false")) {
            harness.put(List.of(harness.record("before", "{}")));
            harness.putUntilDecided();
            isThere[0] = false;
            sleep(1_103);
            ConnectException failure = harness.putUntilFailed(List.of(harness.record("after", "{}")));
            assertTrue(failure.getMessage().startsWith("bulk request to books: status 404"), failure.getMessage());
            assertEquals(Set.of("before"), accepted);
        }
    }
}
