package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Ids that other records have taken; the server as for {@link RealElasticsearch}. */
@EnabledIfEnvironmentVariable(named = "SLUICE_TEST_ELASTICSEARCH_URL", matches = "http.*")
class RealIdConflictsIT extends RealElasticsearch {
    private static final int COUNT = 101;

    private static List<SinkRecord> records(TaskHarness harness, String of, int count) {
        List<SinkRecord> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            records.add(harness.record(
                    "k" + i % 7, "{\"of\":\"" + of + "\",\"price\":" + i + ",\"x\":0.123456789012345678901}"));
        }
        return records;
    }

    /** Writes the same offsets again, as a topic that was deleted and created again has them. */
    private static void putAgain(TaskHarness harness, String of, int count) {
        harness.seek(0);
        harness.put(records(harness, of, count));
        harness.putUntilCompleted();
    }

    /** The records of a topic that was created again are not "already there": each becomes a dead letter. */
    @Test
    void recordsOfARecreatedTopicAreNotAlreadyThere() throws Exception {
        try (CapturedLog log = new CapturedLog();
                TaskHarness harness = harness("key.ignore", "true", "behavior.on.null.values", "ignore")) {
            putAgain(harness, "first", COUNT);
            putAgain(harness, "second", COUNT);
            assertEquals(Map.of("Indexed", 101L, "DeadLettered", 101L), harness.fates());
            assertEquals(COUNT, harness.attribute("RecordsConflicted"));
            assertEquals(COUNT, harness.committable());
            String letter = harness.deadLetters.iterator().next();
            assertTrue(letter.startsWith("books-0@0: status 409 id_conflict: another document has this _id;"), letter);
            assertEquals(
                    1,
                    log.linesWith(INDEX + ": books-0@0: another document has this _id")
                            .size());
        }
    }

    /** By default the task fails at the first of them and names it. */
    @Test
    void aRecreatedTopicFailsTheTask() throws Exception {
        try (TaskHarness harness = harness(
                "key.ignore", "true", "behavior.on.null.values", "ignore", "behavior.on.malformed.documents", "fail")) {
            putAgain(harness, "first", COUNT);
            harness.seek(0);
            ConnectException failure = harness.putUntilFailed(records(harness, "second", COUNT));
            assertTrue(failure.getMessage().startsWith("books-0@0: status 409 id_conflict:"), failure.getMessage());
        }
    }

    /** The same records again are already there, routed ones too, though another program wrote spaces into them. */
    @Test
    void theSameRecordsAreAlreadyThere() throws Exception {
        for (String routing : new String[] {"", "key"}) {
            makeIndex();
            try (TaskHarness harness =
                    harness("key.ignore", "true", "behavior.on.null.values", "ignore", "routing", routing)) {
                putAgain(harness, "first", COUNT);
                putAgain(harness, "first", COUNT);
                putAgain(harness, "first", COUNT);
                assertEquals(Map.of("Indexed", 101L, "AlreadyThere", 202L), harness.fates());
                assertEquals(0, harness.attribute("RecordsConflicted"));
                assertEquals(COUNT, count());
            }
        }
    }

    /** A document that another program has changed since, or a pipeline of the index may have, is no conflict. */
    @Test
    void changedDocumentsAreNoConflict() throws Exception {
        try (CapturedLog log = new CapturedLog();
                TaskHarness harness = harness("key.ignore", "true", "behavior.on.null.values", "ignore")) {
            putAgain(harness, "first", 1);
            ask("POST", "/" + INDEX + "/_update/books%2B0%2B0", "{\"doc\":{\"price\":7}}");
            putAgain(harness, "first", 1);
            assertEquals(Map.of("Indexed", 1L, "AlreadyThere", 1L), harness.fates());
            assertEquals(
                    1,
                    log.linesWith("the stored document was changed after it was created")
                            .size());
        }
        ask("PUT", "/_ingest/pipeline/sluice-it", "{\"processors\":[]}");
        makeIndex();
        ask("PUT", "/" + INDEX + "/_settings", "{\"index\":{\"default_pipeline\":\"sluice-it\"}}");
        try {
            assertAlreadyThere("second", "an ingest pipeline of the index may change documents");
        } finally {
            makeIndex();
            ask("DELETE", "/_ingest/pipeline/sluice-it", null);
        }
    }

    /** Records whose ids are stored already count as already there, and one warning says why that cannot be told. */
    private static void assertAlreadyThere(String again, String why) throws Exception {
        try (CapturedLog log = new CapturedLog();
                TaskHarness harness = harness("key.ignore", "true", "behavior.on.null.values", "ignore")) {
            putAgain(harness, "first", COUNT);
            putAgain(harness, again, COUNT);
            assertEquals(Map.of("Indexed", 101L, "AlreadyThere", 101L), harness.fates());
            assertEquals(1, log.linesWith(why).size());
        }
    }

    /** A pipeline of the index that does change documents makes no conflict of records that are read again. */
    @Test
    void aPipelinesOwnFieldsAreNoConflict() throws Exception {
        String set = "{\"processors\":[{\"set\":{\"field\":\"price\",\"value\":7}}]}";
        assumeTrue(
                ask("PUT", "/_ingest/pipeline/sluice-it", set).contains("acknowledged"),
                "the server has no processors");
        ask("PUT", "/" + INDEX + "/_settings", "{\"index\":{\"final_pipeline\":\"sluice-it\"}}");
        try {
            assertAlreadyThere("first", "an ingest pipeline of the index may change documents");
        } finally {
            makeIndex();
            ask("DELETE", "/_ingest/pipeline/sluice-it", null);
        }
    }

    /** A source that is put together from fields is compared by them; another document cannot be told there. */
    @Test
    void aDerivedSourceIsComparedByItsFields() throws Exception {
        ask("DELETE", "/" + INDEX, null);
        String made = ask(
                "PUT",
                "/" + INDEX,
                "{\"settings\":{\"index\":{\"derived_source\":{\"enabled\":true}}},\"mappings\":{\"dynamic\":false,"
                        + "\"properties\":{\"of\":{\"type\":\"keyword\"},\"m\":{\"type\":\"keyword\"},"
                        + "\"price\":{\"type\":\"long\"},\"x\":{\"type\":\"double\"}}}}");
        assumeTrue(made.contains("acknowledged"), "the server has no derived source");
        try (CapturedLog log = new CapturedLog();
                TaskHarness harness = harness("key.ignore", "true", "behavior.on.null.values", "ignore")) {
            putAgain(harness, "first", COUNT);
            ask("POST", "/" + INDEX + "/_refresh", null);
            putAgain(harness, "first", COUNT);
            assertEquals(List.of(), log.linesWith("cannot tell"));
            putAgain(harness, "second", COUNT);
            assertEquals(Map.of("Indexed", 101L, "AlreadyThere", 202L), harness.fates());
            assertEquals(
                    1,
                    log.linesWith("the index does not keep _source as it was sent")
                            .size());
        }
    }

    /** Fields that {@code _source} leaves out cannot be compared. */
    @Test
    void fieldsThatAreNotKeptAreNoConflict() throws Exception {
        ask("DELETE", "/" + INDEX, null);
        ask("PUT", "/" + INDEX, "{\"mappings\":{\"_source\":{\"excludes\":[\"price\"]}}}");
        try (TaskHarness harness = harness("key.ignore", "true", "behavior.on.null.values", "ignore")) {
            putAgain(harness, "first", COUNT);
            putAgain(harness, "first", COUNT);
            assertEquals(Map.of("Indexed", 101L, "AlreadyThere", 101L), harness.fates());
        }
    }

    /** With keys, records of a topic that was created again are found where they meet the end of their partition. */
    @Test
    void keyedRecordsOfARecreatedTopicAreNotStale() throws Exception {
        try (PlayedLag lag = new PlayedLag("harness");
                TaskHarness harness = harness()) {
            lag.set(() -> 0);
            putAgain(harness, "first", COUNT);
            putAgain(harness, "second", 5);
            assertEquals(Map.of("Indexed", 7L, "Updated", 94L, "DeadLettered", 5L), harness.fates());
            String letter = harness.deadLetters.iterator().next();
            assertTrue(letter.contains("the stored version lies beyond the end of the record's partition"), letter);
        }
    }

    /** Records that are read again before the end of their partition are stale or already there, as ever. */
    @Test
    void keyedRecordsThatAreReadAgainAreStaleOrAlreadyThere() throws Exception {
        try (PlayedLag lag = new PlayedLag("harness");
                TaskHarness harness = harness()) {
            putAgain(harness, "first", COUNT);
            lag.set(() -> COUNT - 5);
            putAgain(harness, "first", 5);
            lag.set(() -> 0);
            putAgain(harness, "first", COUNT);
            assertEquals(Map.of("Indexed", 7L, "Updated", 94L, "AlreadyThere", 7L, "Stale", 99L), harness.fates());
        }
    }

    /** The same offset of a key with another document is no redelivery. */
    @Test
    void anotherDocumentOfTheSameVersionIsNotAlreadyThere() throws Exception {
        try (TaskHarness harness = harness()) {
            putAgain(harness, "first", 7);
            putAgain(harness, "second", 7);
            assertEquals(Map.of("Indexed", 7L, "DeadLettered", 7L), harness.fates());
            assertTrue(
                    harness.deadLetters.iterator().next().contains("another document has this _id and this version"),
                    harness.deadLetters.toString());
        }
    }
}
