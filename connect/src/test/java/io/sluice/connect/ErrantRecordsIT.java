package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.management.ObjectName;
import org.apache.kafka.connect.errors.ConnectException;
import org.junit.jupiter.api.Test;

/** What becomes of bad documents under the worker's own errors.* settings, which decide what its reporter does. */
class ErrantRecordsIT extends MisbehavingServer {
    private static final String[] ONLY_LOGGED = {
        "errors.deadletterqueue.topic.name",
        "",
        "errors.log.enable",
        "true",
        "behavior.on.malformed.documents",
        "ignore"
    };

    private TaskHarness harnessWith(String[] settings, String... more) {
        return new TaskHarness(server.url(), TaskHarness.settings(TaskHarness.settings(Map.of(), settings), more));
    }

    /** Without a queue, report is refused at the start: the worker's reporter would only log. */
    @Test
    void reportWithoutAQueueIsRefused() {
        ConnectException refusal = org.junit.jupiter.api.Assertions.assertThrows(
                ConnectException.class, () -> harnessWith(ONLY_LOGGED, "behavior.on.malformed.documents", "report")
                        .close());
        assertEquals(
                "behavior.on.malformed.documents: got report without a dead-letter queue, expected errors.tolerance=all"
                        + " and errors.deadletterqueue.topic.name",
                refusal.getMessage());
    }

    /** With a log and no tolerance the worker's reporter throws; the setting says ignore, and so the task goes on. */
    @Test
    void ignoredDocumentsDoNotFailATaskWithoutTolerance() throws Exception {
        try (TaskHarness harness = harnessWith(ONLY_LOGGED, "errors.tolerance", "none")) {
            harness.put(List.of(harness.record("a", "{"), harness.record("b", "{}")));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 1L, "Dropped", 1L), harness.fates());
            assertEquals(2, harness.committable());
        }
    }

    /** Connect takes a letter that the producer refuses at once for one that arrived; the record is not lost for that. */
    @Test
    void aLetterThatIsRefusedAtOnceFailsTheTask() throws Exception {
        try (TaskHarness harness = harness("flush.timeout.ms", "0")) {
            harness.refusesLetters = true;
            ConnectException failure =
                    harness.putUntilFailed(List.of(harness.record("a", "{}"), harness.record("b", "{")));
            assertEquals(
                    "the producer refused it at once; it may be larger than the producer's max.request.size, or the topic"
                            + " may be missing or forbidden",
                    failure.getMessage());
            assertTrue(harness.committed() <= 1, "committed " + harness.committed());
        }
    }

    /** A broker may acknowledge a letter before anybody looks, and each one: it is written once, and no task fails. */
    @Test
    void aLetterThatArrivesAtOnceIsWrittenOnce() throws Exception {
        try (TaskHarness harness = harness("flush.timeout.ms", "0")) {
            harness.lettersThatArriveAtOnce.set(1_000);
            harness.put(List.of(harness.record("a", "{}"), harness.record("b", "{"), harness.record("c", "{")));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 1L, "DeadLettered", 2L), harness.fates());
            assertEquals(2, harness.reports.get());
        }
    }

    /** A worker without JMX does not tell arrived from refused: nothing is lost, and a letter is written twice at most. */
    @Test
    void withoutTheWorkersCountALetterIsWrittenTwiceAtMost() throws Exception {
        try (TaskHarness harness = harness("flush.timeout.ms", "0")) {
            ManagementFactory.getPlatformMBeanServer()
                    .unregisterMBean(new ObjectName("kafka.connect:type=task-error-metrics,connector=harness,task=0"));
            harness.lettersThatArriveAtOnce.set(1);
            harness.put(List.of(harness.record("a", "{}"), harness.record("b", "{")));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 1L, "DeadLettered", 1L), harness.fates());
            assertEquals(2, harness.reports.get());
        }
    }

    /** Where the worker logs what is reported, the reason is left out: it may quote the document. */
    @Test
    void reasonsThatAreLoggedQuoteNothing() throws Exception {
        misbehaviour = (request, exchange, ids) -> answer(
                exchange,
                200,
                "{\"items\":["
                        + item(
                                exchange,
                                ids.get(0),
                                "\"status\":400,\"error\":{\"type\":\"x_exception\",\"reason\":\"" + LogSafety.DOCUMENT
                                        + "\"}")
                        + "]}");
        try (CapturedLog log = new CapturedLog();
                TaskHarness harness = harness("errors.log.enable", "true")) {
            harness.put(List.of(harness.record("a", "{}")));
            harness.putUntilCompleted();
            assertEquals(Map.of("DeadLettered", 1L), harness.fates());
            assertEquals(Set.of("books-0@0: status 400 x_exception"), harness.deadLetters);
            assertTrue(log.linesWith("books-0@0: status 400 x_exception").size() > 0);
        }
    }
}
