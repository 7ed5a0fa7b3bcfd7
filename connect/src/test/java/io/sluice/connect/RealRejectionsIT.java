package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** What is a dead letter and harms no neighbour, and what ends the task; the server as for {@link RealElasticsearch}. */
@EnabledIfEnvironmentVariable(named = "SLUICE_TEST_ELASTICSEARCH_URL", matches = "http.*")
class RealRejectionsIT extends RealElasticsearch {
    /** A rejected document goes to the dead-letter queue with its reason; its neighbours are indexed. */
    @Test
    void rejectedDocumentsGoToTheDeadLetterQueue() throws Exception {
        try (TaskHarness harness = harness()) {
            harness.put(List.of(
                    harness.record("good", "{\"price\":1}"),
                    harness.record("conflict", "{\"price\":\"" + LogSafety.DOCUMENT + "\"}"),
                    harness.record("twice", "{\"price\":1,\"price\":2}"),
                    harness.record("array", "[1]"),
                    harness.record(null, "{\"price\":3}"),
                    harness.record("x".repeat(513), "{\"price\":3}"),
                    harness.record("good too", "{\"price\":4}")));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 2L, "DeadLettered", 5L), harness.fates());
            assertEquals(2, count());
            List<String> letters = new ArrayList<>(harness.deadLetters);
            letters.sort(null);
            assertTrue(letters.get(0).startsWith("books-0@1: status 400 "), letters.get(0));
            assertTrue(
                    letters.get(0)
                            .contains(
                                    "failed to parse field [price] of type [integer] in document with id 'conflict'."),
                    letters.get(0));
            assertEquals(
                    "books-0@3: record value: got 18 bytes that are wrong from byte 0 on, expected one JSON object in"
                            + " UTF-8",
                    letters.get(2));
            assertEquals(7, harness.committable());
        }
    }

    /** What is no JSON object is rejected one by one and told by its first wrong byte; its neighbours are indexed. */
    @Test
    void whatIsNoJsonIsRejectedAlone() throws Exception {
        List<String> wrong = List.of(
                "{}}",
                "{\"a\":1,}",
                "{\"a\" 1}",
                "{\"a\":[1}",
                "{\"a\":{}",
                "{\"a\":1}{\"a\":2}",
                "{a:1}",
                "{\"a\":NaN}",
                "{\"a\":\"}");
        try (TaskHarness harness = harness()) {
            List<SinkRecord> records = new ArrayList<>();
            for (int i = 0; i < wrong.size(); i++) {
                records.add(harness.record("good" + i, "{\"price\":" + i + "}"));
                records.add(harness.record("wrong" + i, wrong.get(i)));
            }
            harness.put(records);
            harness.putUntilCompleted();
            long letters = wrong.size();
            assertEquals(Map.of("Indexed", letters, "DeadLettered", letters), harness.fates());
            assertEquals(letters, count());
            for (String letter : harness.deadLetters) {
                assertTrue(letter.contains("status 400"), letter);
                assertTrue(letter.endsWith("on, expected one JSON object in UTF-8"), letter);
            }
        }
    }

    /** A comment behind a document, which Elasticsearch's reader would skip, never gets into the index. */
    @Test
    void aCommentBehindADocumentIsNotStored() throws Exception {
        String url = "{\"price\":1,\"url\":\"https://a//b\"}";
        try (TaskHarness harness = harness()) {
            harness.put(List.of(
                    harness.record("good", url),
                    harness.record("brace", "{\"n\":2}//}"),
                    harness.record("quote", "{\"n\":2}//\"}"),
                    harness.record("colon", "{\"n\"://}"),
                    harness.record("block", "{\"n\":2}/*}"),
                    harness.record("good too", url)));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 2L, "DeadLettered", 4L), harness.fates());
            assertEquals(2, count());
            assertTrue(ask("GET", "/" + INDEX + "/_doc/brace", null).contains("\"found\":false"));
            assertTrue(ask("GET", "/" + INDEX + "/_doc/good", null).contains(url.substring(0, url.length() - 1)));
        }
    }

    /** A version that is none makes a bad document of its record, and no more: the neighbours are stored. */
    @Test
    void aNegativeVersionHarmsNoNeighbour() throws Exception {
        Object[] wrong = {-5L, 1.5, "-5", new byte[] {-1, 0, 0, 0, 0, 0, 0, 0}};
        try (TaskHarness harness = harness("external.version.header", "v")) {
            List<SinkRecord> records = new ArrayList<>();
            for (int i = 0; i < wrong.length; i++) {
                SinkRecord good = harness.record("good" + i, "{\"price\":1}");
                good.headers().add("v", Long.MAX_VALUE, null);
                SinkRecord bad = harness.record("bad" + i, i % 2 == 0 ? "{\"price\":1}" : null);
                bad.headers().add("v", wrong[i], null);
                records.addAll(List.of(good, bad));
            }
            harness.put(records);
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 4L, "DeadLettered", 4L), harness.fates());
            assertEquals(4, count());
        }
    }

    /** An upsert that Elasticsearch cannot parse, for which it refuses the whole request, is a dead letter alone. */
    @Test
    void anUpsertWithAKeyTwiceHarmsNoNeighbour() throws Exception {
        try (TaskHarness harness = harness("write.method", "upsert")) {
            List<SinkRecord> records = new ArrayList<>();
            for (int i = 0; i < 13; i++) {
                records.add(harness.record("k" + i, i == 5 ? "{\"price\":1,\"price\":2}" : "{\"price\":1}"));
            }
            harness.put(records);
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 12L, "DeadLettered", 1L), harness.fates());
            assertEquals(12, count());
            assertEquals(1, harness.deadLetters.size());
            String letter = harness.deadLetters.iterator().next();
            assertTrue(letter.startsWith("books-0@5: status 400 "), letter);
        }
    }

    /** A pipeline that does not exist fails the task: no document is at fault. */
    @Test
    void aMissingPipelineFailsTheTask() throws Exception {
        try (TaskHarness harness = harness("pipeline", "sluice-it-missing")) {
            ConnectException failure = harness.putUntilFailed(List.of(harness.record("a", "{}")));
            assertTrue(
                    failure.getMessage().contains("pipeline with id [sluice-it-missing] does not exist"),
                    failure.getMessage());
            assertEquals(Set.of(), harness.deadLetters);
        }
    }

    /** Before a connector is created the server is asked for its pipeline, whose name may be any text. */
    @Test
    void theServerSaysThatAPipelineIsMissing() throws Exception {
        String name = "sluice it/ü%";
        String path = "/_ingest/pipeline/sluice%20it%2F%C3%BC%25";
        assertEquals(
                List.of("pipeline: got " + name
                        + ", which does not exist, expected an ingest pipeline that does; create" + " it first"),
                refusals(name));
        String made = ask("PUT", path, "{\"processors\":[]}");
        try {
            assertTrue(made.contains("acknowledged"), made);
            assertEquals(List.of(), refusals(name));
        } finally {
            ask("DELETE", path, null);
        }
    }

    private static List<String> refusals(String pipeline) {
        Map<String, String> settings = Map.of("connection.url", URL, "topics", "books", "pipeline", pipeline);
        return new ElasticsearchSinkConnector()
                .validate(settings).configValues().stream()
                        .flatMap(value -> value.errorMessages().stream())
                        .toList();
    }
}
