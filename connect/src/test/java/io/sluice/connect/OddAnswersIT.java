package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
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

    /** An answer about other documents, or about these in another order, is no success: the request goes again. */
    @Test
    void answersAboutOtherDocumentsAreNone() throws Exception {
        misbehaviour = (request, exchange, ids) -> {
            if (request % 3 == 2) {
                return false;
            }
            List<String> others = new ArrayList<>(ids);
            Collections.rotate(others, 1);
            String items = others.stream()
                    .map(id -> item(exchange, id, "\"status\":201"))
                    .collect(Collectors.joining(","));
            String answer = "{\"items\":[" + items + "]}";
            return answer(exchange, 200, request % 3 == 0 ? answer : answer.replace("\"_id\":\"", "\"_id\":\"other-"));
        };
        try (CapturedLog log = new CapturedLog();
                TaskHarness harness = harness("batch.size", "7", "linger.ms", "1009")) {
            harness.put(records(harness, 7));
            assertAllAccepted(harness, 7);
            assertEquals(2, harness.attribute("BulkAnswersMismatched"));
            assertEquals(
                    2,
                    log.linesWith("of the answer has another _id than was sent").stream()
                            .filter(line -> line.contains("bulk request to books"))
                            .count());
        }
    }

    /** Who always answers for other documents makes the task fail, and no offset is committed. */
    @Test
    void whoAlwaysAnswersForOthersFailsTheTask() throws Exception {
        misbehaviour = (request, exchange, ids) -> {
            String items = ids.stream()
                    .map(id -> item(exchange, "other-" + id, "\"status\":201"))
                    .collect(Collectors.joining(","));
            return answer(exchange, 200, "{\"items\":[" + items.replace("{\"null\"", "{\"index\"") + "]}");
        };
        try (TaskHarness harness = harness("max.retries", "2", "flush.timeout.ms", "0")) {
            ConnectException failure = harness.putUntilFailed(records(harness, 3));
            assertTrue(failure.getMessage().contains("has another _id than was sent"), failure.getMessage());
            assertEquals(0, harness.committable());
        }
    }

    /** All that the client can log, which a worker can switch on, holds no document. */
    @Test
    void theClientsLogShowsNoDocument() throws Exception {
        Logger client = Logger.getLogger("org.apache.hc");
        client.setLevel(Level.FINE);
        try (CapturedLog log = new CapturedLog()) {
            for (String compression : new String[] {"false", "true"}) {
                accepted.clear();
                try (TaskHarness harness = harness(
                        "connection.compression",
                        compression,
                        "connection.api.key",
                        "YXBpLWtleS1pbi1sb2c=",
                        "batch.size",
                        "5")) {
                    harness.put(records(harness, 5));
                    assertAllAccepted(harness, 5);
                }
            }
            assertEquals(List.of(), log.linesWith("YXBpLWtleS1pbi1sb2c="));
            assertTrue(log.linesWith("_bulk").size() > 0);
            assertEquals(List.of(), log.linesWith(LogSafety.DOCUMENT));
        } finally {
            client.setLevel(null);
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
            harness.putUntilCompleted();
            isThere[0] = false;
            sleep(1_103);
            ConnectException failure = harness.putUntilFailed(List.of(harness.record("after", "{}")));
            assertTrue(failure.getMessage().startsWith("bulk request to books: status 404"), failure.getMessage());
            assertEquals(Set.of("before"), accepted);
        }
    }
}
