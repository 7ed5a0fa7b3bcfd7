package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.transforms.RegexRouter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A server that stores, and refuses or answers wrongly when it is asked for what it has stored. */
@ExtendWith(LogSafety.class)
class IdConflictsIT {
    private static final int COUNT = 97;

    private final PlayedElasticsearch store = new PlayedElasticsearch(name -> false);
    private final AtomicInteger questions = new AtomicInteger();
    private final AtomicInteger indexQuestions = new AtomicInteger();
    private int mostAsked;
    /** Answers a question in its own way, or returns {@code null}. */
    private volatile Answers answers = number -> null;

    private volatile Answers indexAnswers = number -> new PlayedElasticsearch.Reply(200, "{}");
    private LocalServer server;

    interface Answers {
        PlayedElasticsearch.Reply to(int question);
    }

    @BeforeEach
    void start() throws IOException {
        server = LocalServer.start(this::handle);
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private void handle(HttpExchange exchange) throws IOException {
        if (LocalServer.isAskedForShards(exchange)) {
            return;
        }
        try (exchange) {
            String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
            PlayedElasticsearch.Reply reply = reply(exchange.getRequestURI().getPath(), body);
            LocalServer.answer(exchange, reply.status(), reply.body());
        }
    }

    private synchronized PlayedElasticsearch.Reply reply(String path, String body) {
        if (path.endsWith("/_bulk")) {
            return store.bulk(path.split("/")[1], body, item -> true);
        }
        if (!path.equals("/_mget")) {
            return indexAnswers.to(indexQuestions.getAndIncrement());
        }
        mostAsked = Math.max(mostAsked, body.split("\"_id\"").length - 1);
        PlayedElasticsearch.Reply own = answers.to(questions.getAndIncrement());
        return own == null ? store.mget(body) : own;
    }

    private static PlayedElasticsearch.Reply error(int status, String type) {
        return new PlayedElasticsearch.Reply(
                status, "{\"error\":{\"type\":\"" + type + "\",\"reason\":\"x\"},\"status\":" + status + "}");
    }

    private TaskHarness harness(String... more) {
        Map<String, String> creates = Map.of("key.ignore", "true", "behavior.on.null.values", "ignore");
        return new TaskHarness(server.url(), TaskHarness.settings(creates, more));
    }

    private static List<SinkRecord> records(TaskHarness harness, String of, int count) {
        List<SinkRecord> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            records.add(harness.record("k" + i, "{\"of\":\"" + of + "\"}"));
        }
        return records;
    }

    private static void putAgain(TaskHarness harness, String of, int count) {
        harness.seek(0);
        harness.put(records(harness, of, count));
        harness.putUntilCompleted();
    }

    /** Without any conflict nothing is asked. */
    @Test
    void withoutAConflictNothingIsAsked() {
        try (TaskHarness harness = harness()) {
            putAgain(harness, "first", COUNT);
            assertEquals(0, questions.get());
        }
    }

    /** Records that are read again cost one question for many, and none about the index. */
    @Test
    void recordsThatAreReadAgainAreAskedForTogether() {
        try (TaskHarness harness = harness("batch.size", "2000", "linger.ms", "1009")) {
            putAgain(harness, "first", 1_499);
            putAgain(harness, "first", 1_499);
            assertEquals(Map.of("Indexed", 1_499L, "AlreadyThere", 1_499L), harness.fates());
            assertEquals(3, questions.get());
            assertEquals(500, mostAsked);
            assertEquals(0, indexQuestions.get());
        }
    }

    /** What the index does to documents is asked once for many conflicts. */
    @Test
    void theIndexIsAskedAboutOnce() {
        try (TaskHarness harness = harness("batch.size", "7")) {
            putAgain(harness, "first", COUNT);
            putAgain(harness, "second", COUNT);
            assertEquals(Map.of("Indexed", 97L, "DeadLettered", 97L), harness.fates());
            assertTrue(indexQuestions.get() <= 5, "at most one for each request in flight: " + indexQuestions);
        }
    }

    /** An account that may not read goes on working, and the log names the privilege. */
    @Test
    void withoutPrivilegesRecordsAreTakenForAlreadyThere() throws Exception {
        for (int denied = 0; denied < 2; denied++) {
            boolean isReadDenied = denied == 0;
            answers = number -> isReadDenied ? error(403, "security_exception") : null;
            indexAnswers = number -> error(403, "security_exception");
            try (CapturedLog log = new CapturedLog();
                    TaskHarness harness = harness("index.name", "i" + denied)) {
                putAgain(harness, "first", COUNT);
                putAgain(harness, "second", COUNT);
                assertEquals(Map.of("Indexed", 97L, "AlreadyThere", 97L), harness.fates());
                String privilege = isReadDenied ? "read;" : "view_index_metadata;";
                assertEquals(
                        1,
                        log.linesWith("cannot tell whether stored documents are those of their records, counted as"
                                        + " already there: the account lacks the privilege " + privilege)
                                .size());
            }
        }
    }

    /** A question that fails for a while is no verdict: the request goes again. */
    @Test
    void questionsThatFailGoAgain() {
        PlayedElasticsearch.Reply[] failures = {
            error(503, "x"),
            error(429, "x"),
            error(500, "x"),
            new PlayedElasticsearch.Reply(200, "{\"docs\":[{\"_id\":"),
            new PlayedElasticsearch.Reply(200, "<html>"),
            new PlayedElasticsearch.Reply(200, "{\"docs\":[]}")
        };
        answers = number -> number % 7 < failures.length ? failures[number % 7] : null;
        try (TaskHarness harness = harness("max.retries", "11")) {
            putAgain(harness, "first", COUNT);
            putAgain(harness, "first", COUNT);
            putAgain(harness, "second", COUNT);
            assertEquals(Map.of("Indexed", 97L, "AlreadyThere", 97L, "DeadLettered", 97L), harness.fates());
        }
    }

    /** A server that waited for too long, and what is no answer, say nothing of the documents or of their index. */
    @Test
    void whatIsNoAnswerIsNoVerdict() {
        String changing = "{\"books\":{\"settings\":{\"index\":{\"default_pipeline\":\"p\"}}}}";
        for (String noAnswer : new String[] {"<html>", "", "{\"books\":{", "[]"}) {
            indexAnswers = number -> new PlayedElasticsearch.Reply(200, number == 0 ? noAnswer : changing);
            assertFateOfAnothers("AlreadyThere");
        }
        indexAnswers = number -> number == 0 ? error(408, "x") : new PlayedElasticsearch.Reply(200, "{}");
        assertFateOfAnothers("DeadLettered");
        answers = number -> number == 0 ? error(408, "x") : null;
        assertFateOfAnothers("DeadLettered");
    }

    private void assertFateOfAnothers(String fate) {
        store.removeAll();
        questions.set(0);
        indexQuestions.set(0);
        try (TaskHarness harness = harness()) {
            putAgain(harness, "first", COUNT);
            putAgain(harness, "second", COUNT);
            assertEquals(Map.of("Indexed", 97L, fate, 97L), harness.fates());
        }
    }

    /** Questions that are never answered well fail the task in time, and no offset is committed. */
    @Test
    void questionsThatAlwaysFailFailTheTask() {
        answers = number -> error(503, "x");
        try (TaskHarness harness = harness("retry.timeout.ms", "503", "flush.timeout.ms", "0")) {
            putAgain(harness, "first", COUNT);
            harness.seek(0);
            ConnectException failure = harness.putUntilFailed(records(harness, "first", COUNT));
            assertTrue(failure.getMessage().contains("status 503"), failure.getMessage());
        }
    }

    /** A document that was deleted meanwhile is sent again; one that is never found is taken for the record's own. */
    @Test
    void whatIsNotFoundIsSentAgain() throws Exception {
        String none = "{\"docs\":["
                + IntStream.range(0, 3)
                        .mapToObj(i -> "{\"_index\":\"books\",\"_id\":\"books+0+" + i + "\",\"found\":false}")
                        .collect(Collectors.joining(","))
                + "]}";
        answers = number -> number < 2 ? new PlayedElasticsearch.Reply(200, none) : null;
        try (CapturedLog log = new CapturedLog();
                TaskHarness harness = harness("linger.ms", "101")) {
            putAgain(harness, "first", 3);
            putAgain(harness, "first", 3);
            assertEquals(Map.of("Indexed", 3L, "AlreadyThere", 3L), harness.fates());
            assertEquals(6, harness.attribute("ItemRetries"));
            assertEquals(List.of(), log.linesWith("cannot tell"));
            answers = number -> new PlayedElasticsearch.Reply(200, none);
            putAgain(harness, "first", 3);
            assertEquals(Map.of("Indexed", 3L, "AlreadyThere", 6L), harness.fates());
            assertEquals(
                    1,
                    log.linesWith("the cluster does not find the stored document")
                            .size());
        }
    }

    /** Makes what it likes of a record. */
    public static final class Unknown extends RegexRouter<SinkRecord> {}

    /** A transformation that nobody knows may give a record another document each time: the log says so, once. */
    @Test
    void unknownTransformationsMakeNoConflict() throws Exception {
        for (Class<?> type : new Class<?>[] {Unknown.class, RegexRouter.class}) {
            boolean isKnown = type == RegexRouter.class;
            try (CapturedLog log = new CapturedLog();
                    TaskHarness harness = harness(
                            "transforms",
                            "t",
                            "transforms.t.type",
                            type.getName(),
                            "transforms.t.regex",
                            ".*",
                            "transforms.t.replacement",
                            isKnown ? "known" : "unknown")) {
                putAgain(harness, "first", COUNT);
                putAgain(harness, "second", COUNT);
                String fate = isKnown ? "DeadLettered" : "AlreadyThere";
                assertEquals(Map.of("Indexed", 97L, fate, 97L), harness.fates());
                assertEquals(
                        isKnown ? 0 : 1,
                        log.linesWith("the transformation t may make another document of a record each time")
                                .size());
            }
        }
    }

    /** With a version of the user's own nothing is asked: two records of one version are his. */
    @Test
    void versionsFromAHeaderAreNotAskedFor() {
        try (TaskHarness harness = new TaskHarness(server.url(), Map.of("external.version.header", "v"))) {
            putAgain(harness, "first", COUNT);
            putAgain(harness, "second", COUNT);
            assertEquals(Map.of("Indexed", 97L, "AlreadyThere", 97L), harness.fates());
            assertEquals(0, questions.get());
        }
    }

    /** A worker whose consumer tells no lag counts a newer version as stale, as ever. */
    @Test
    void withoutALagANewerVersionIsStale() {
        try (TaskHarness harness = new TaskHarness(server.url(), Map.of())) {
            for (int i = 0; i < COUNT; i++) {
                harness.put(List.of(harness.record("k", "{\"n\":" + i + "}")));
            }
            harness.putUntilCompleted();
            harness.seek(0);
            harness.put(List.of(harness.record("k", "{\"n\":-1}")));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 1L, "Updated", 96L, "Stale", 1L), harness.fates());
            assertEquals(0, questions.get());
        }
    }
}
