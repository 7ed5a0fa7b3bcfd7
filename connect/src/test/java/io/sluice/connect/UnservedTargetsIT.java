package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;

/** One of two topics whose index cannot be served: the other one goes on, and nothing is lost or doubled. */
class UnservedTargetsIT extends MisbehavingServer {
    private static final TopicPartition FILMS = new TopicPartition("films", 0);
    private static final TopicPartition MORE_FILMS = new TopicPartition("films", 1);
    private static final int FILMS_PER_PARTITION = 101;
    private static final int BOOKS = 199;

    private volatile boolean unserved = true;

    private TaskHarness harnessOfBoth(String... more) {
        return new TaskHarness(
                List.of(TaskHarness.PARTITION, FILMS, MORE_FILMS),
                server.url(),
                TaskHarness.settings(Map.of("batch.size", "31", "max.retries", "2"), more));
    }

    private static boolean isForFilms(HttpExchange exchange) {
        return exchange.getRequestURI().getPath().startsWith("/films");
    }

    /** Answers each item for films with this, as long as the index is not served. */
    private void answerItemsForFilms(int status, String type, String reason) {
        String error = ",\"error\":{\"type\":\"" + type + "\",\"reason\":\"" + reason + "\"}";
        misbehaviour = (request, exchange, ids) -> {
            String items = ids.stream()
                    .map(id -> item(exchange, id, "\"status\":" + status + error))
                    .collect(Collectors.joining(","));
            return isUnserved(exchange) && answer(exchange, 200, "{\"errors\":true,\"items\":[" + items + "]}");
        };
    }

    private boolean isUnserved(HttpExchange exchange) {
        return unserved && isForFilms(exchange);
    }

    private static List<SinkRecord> records(TaskHarness harness, TopicPartition partition, String key, int count) {
        List<SinkRecord> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            records.add(harness.record(partition, key + i, "{\"i\":" + i + "}"));
        }
        return records;
    }

    /** Feeds both, sees that one goes on, lets the other come back, and sees that it gets all. */
    private void assertOnlyFilmsWait(TaskHarness harness, String what) throws InterruptedException {
        List<SinkRecord> records = new ArrayList<>();
        records.addAll(records(harness, FILMS, "f", FILMS_PER_PARTITION));
        records.addAll(records(harness, MORE_FILMS, "m", FILMS_PER_PARTITION));
        records.addAll(records(harness, TaskHarness.PARTITION, "b", BOOKS));
        harness.put(records);
        harness.await(() -> harness.text("ParkedTargets").equals("films"));
        harness.put(records(harness, TaskHarness.PARTITION, "later", BOOKS));
        harness.await(() -> harness.attribute("RecordsIndexed") == 2L * BOOKS);
        harness.putUntilInFlight(2L * FILMS_PER_PARTITION);
        assertEquals(Map.of("Indexed", 2L * BOOKS), harness.fates(), what);
        assertEquals("films", harness.text("ParkedTargets"), what);
        assertEquals(2 * BOOKS, harness.committable(), what);
        assertEquals(0, harness.committable(FILMS) + harness.committable(MORE_FILMS), what);
        unserved = false;
        harness.putUntilCompleted();
        assertEquals(Map.of("Indexed", 2L * BOOKS + 2L * FILMS_PER_PARTITION), harness.fates(), what);
        assertEquals(2 * BOOKS + 2 * FILMS_PER_PARTITION, accepted.size(), what);
        assertEquals("", harness.text("ParkedTargets"), what);
        assertEquals(FILMS_PER_PARTITION, harness.committable(FILMS), what);
        assertEquals(FILMS_PER_PARTITION, harness.committable(MORE_FILMS), what);
        assertEquals(Set.of(), harness.deadLetters, what);
    }

    @Test
    void aMissingIndexThatMayNotBeCreatedStopsItsTopicOnly() throws Exception {
        misbehaviour = (request, exchange, ids) -> {
            boolean isQuestion = exchange.getRequestMethod().equals("HEAD");
            if (isQuestion) {
                exchange.sendResponseHeaders(isUnserved(exchange) ? 404 : 200, -1);
            }
            return isQuestion;
        };
        try (TaskHarness harness = harnessOfBoth("auto.create", "false")) {
            assertOnlyFilmsWait(harness, "missing");
        }
    }

    @Test
    void aClosedIndexStopsItsTopicOnly() throws Exception {
        answerItemsForFilms(400, "index_closed_exception", "closed");
        try (TaskHarness harness = harnessOfBoth()) {
            assertOnlyFilmsWait(harness, "closed");
        }
    }

    /** Told from a cluster that is busy only by time. */
    @Test
    void aBlockedIndexStopsItsTopicOnly() throws Exception {
        answerItemsForFilms(
                403, "cluster_block_exception", "index [films] blocked by: [FORBIDDEN/8/index write (api)];");
        try (TaskHarness harness = harnessOfBoth()) {
            assertOnlyFilmsWait(harness, "blocked");
        }
    }

    @Test
    void anIndexThatTheAccountMayNotWriteToStopsItsTopicOnly() throws Exception {
        answerItemsForFilms(
                403, "security_exception", "action [indices:data/write/bulk[s]] is unauthorized for user [u]");
        try (TaskHarness harness = harnessOfBoth()) {
            assertOnlyFilmsWait(harness, "forbidden items");
        }
    }

    /** An account that may write to none of a request's indices is refused with the request. */
    @Test
    void aRequestThatIsForbiddenStopsItsTopicOnly() throws Exception {
        misbehaviour = (request, exchange, ids) -> isUnserved(exchange)
                && answer(
                        exchange,
                        403,
                        "{\"error\":{\"type\":\"security_exception\",\"reason\":\"no\"},\"status\":403}");
        try (TaskHarness harness = harnessOfBoth()) {
            assertOnlyFilmsWait(harness, "forbidden request");
        }
    }

    /** What waits is bounded: then only its own partitions are paused, and go on when it is served. */
    @Test
    void onlyThePartitionsOfAnUnservedTargetArePaused() throws Exception {
        answerItemsForFilms(400, "index_closed_exception", "closed");
        try (TaskHarness harness = harnessOfBoth("max.buffered.records", "53", "batch.size", "7")) {
            harness.put(records(harness, FILMS, "first", 7));
            harness.await(() -> harness.text("ParkedTargets").equals("films"));
            harness.put(records(harness, FILMS, "f", FILMS_PER_PARTITION));
            harness.await(() -> harness.paused().equals(Set.of(FILMS)));
            harness.put(records(harness, FILMS, "paused", FILMS_PER_PARTITION));
            for (int round = 0; round < 3; round++) {
                harness.put(records(harness, TaskHarness.PARTITION, "b" + round, BOOKS));
                long books = (round + 1L) * BOOKS;
                harness.await(() -> harness.attribute("RecordsIndexed") == books);
                assertEquals(Set.of(FILMS), harness.paused());
            }
            assertTrue(harness.committable() == 3 * BOOKS && harness.committable(FILMS) == 0);
            unserved = false;
            harness.putUntilCompleted();
            assertEquals(Set.of(), harness.paused());
            assertEquals(7 + 2 * FILMS_PER_PARTITION + 3 * BOOKS, accepted.size());
            assertEquals(7 + 2 * FILMS_PER_PARTITION, harness.committable(FILMS));
        }
    }
}
