package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * A data stream with a failure store, as Elasticsearch 8.19 and 9.1 answer for it; OpenSearch has none, and the plain build of
 * Elasticsearch has no data streams. Source: BulkItemResponse.toXContent (failed items: {@code _index}, {@code _id},
 * {@code status}, {@code failure_store}, {@code error}), IndexDocFailureStoreStatus (its labels),
 * FailureStoreDocumentConverter.transformFailedRequest (a create without an id) and BulkOperation.processFailure.
 */
class FailureStoreIT extends MisbehavingServer {
    private static final String STREAM = "logs-books-default";
    private static final String BACKING = ".ds-" + STREAM + "-2026.11.26-000001";
    private static final String FAILURES = ".fs-" + STREAM + "-2026.11.26-000002";

    private static String stored(String id) {
        return "{\"create\":{\"_index\":\"" + BACKING + "\",\"_id\":\"" + id
                + "\",\"result\":\"created\",\"status\":201}}";
    }

    /** The document in the failure store has an id of the cluster's, and is created there. */
    private static String used(int number) {
        return "{\"create\":{\"_index\":\"" + FAILURES + "\",\"_id\":\"Xq3vGZMBaT0u" + number
                + "\",\"result\":\"created\",\"failure_store\":\"used\",\"status\":201}}";
    }

    private static String failed(String id, int status, String failureStore, String type) {
        return "{\"create\":{\"_index\":\"" + BACKING + "\",\"_id\":\"" + id + "\",\"status\":" + status
                + ",\"failure_store\":\"" + failureStore + "\",\"error\":{\"type\":\"" + type
                + "\",\"reason\":\"[1:9] failed to parse field [i] of value '" + LogSafety.DOCUMENT + "'\"}}}";
    }

    private interface Item {
        String of(int number, String id);
    }

    private void answerEachThird(Item third) {
        misbehaviour = (request, exchange, ids) -> answerItems(exchange, ids, third);
    }

    private static boolean answerItems(HttpExchange exchange, List<String> ids, Item third) throws IOException {
        List<String> items = new ArrayList<>();
        for (int i = 0; i < ids.size(); i++) {
            items.add(i % 3 == 0 ? third.of(i, ids.get(i)) : stored(ids.get(i)));
        }
        return answer(exchange, 200, "{\"errors\":true,\"items\":[" + String.join(",", items) + "]}");
    }

    private TaskHarness harnessOfStream(String... more) {
        Map<String, String> stream = Map.of(
                "external.resource.usage", "DATASTREAM",
                "topic.to.external.resource.mapping", "books:" + STREAM,
                "behavior.on.null.values", "ignore");
        return new TaskHarness(server.url(), TaskHarness.settings(stream, more));
    }

    /** A redirected document is neither stored nor a dead letter, and its record is done with. */
    @Test
    void whatTheFailureStoreTookIsCountedAsRedirected() throws Exception {
        answerEachThird((number, id) -> used(number));
        try (TaskHarness harness = harnessOfStream()) {
            harness.put(records(harness, 13));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 8L, "Redirected", 5L), harness.fates());
            assertEquals(Set.of(), harness.deadLetters);
            assertEquals(13, harness.committable());
            assertEquals(0, harness.attribute("BulkAnswersMismatched"));
        }
    }

    /** Without a failure store, and where it refused the document, too, the document is a dead letter. */
    @Test
    void whatNoFailureStoreTookIsADeadLetter() throws Exception {
        for (String store : new String[] {"not_enabled", "failed"}) {
            answerEachThird((number, id) -> failed(id, 400, store, "document_parsing_exception"));
            try (TaskHarness harness = harnessOfStream()) {
                harness.put(records(harness, 13));
                harness.putUntilCompleted();
                assertEquals(Map.of("Indexed", 8L, "DeadLettered", 5L), harness.fates(), store);
                assertEquals(5, harness.deadLetters.size());
                assertEquals(13, harness.committable());
            }
        }
    }

    /** A failure store that only was not there yet is asked again. */
    @Test
    void whatAFailureStoreCouldNotTakeYetGoesAgain() throws Exception {
        misbehaviour = (request, exchange, ids) -> answerItems(
                exchange,
                ids,
                request < 3
                        ? (number, id) -> failed(id, 503, "failed", "unavailable_shards_exception")
                        : (number, id) -> used(number));
        try (TaskHarness harness = harnessOfStream()) {
            harness.put(records(harness, 13));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 12L, "Redirected", 1L), harness.fates());
            assertEquals(13, harness.committable());
        }
    }

    /** All documents redirected: nothing is stored, nothing fails. */
    @Test
    void aStreamOfWhichEverythingIsRedirectedGoesOn() throws Exception {
        misbehaviour = (request, exchange, ids) -> {
            List<String> items = new ArrayList<>();
            ids.forEach(id -> items.add(used(items.size())));
            return answer(exchange, 200, "{\"errors\":false,\"items\":[" + String.join(",", items) + "]}");
        };
        try (TaskHarness harness = harnessOfStream("key.ignore", "true")) {
            harness.put(records(harness, 199));
            harness.putUntilCompleted();
            assertEquals(Map.of("Redirected", 199L), harness.fates());
            assertEquals(199, harness.committable());
        }
    }
}
