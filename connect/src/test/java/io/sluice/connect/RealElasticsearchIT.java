package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.extension.ExtendWith;

/** Against the server that SLUICE_TEST_ELASTICSEARCH_URL names; an index called sluice-it is made anew for each test. */
@ExtendWith(LogSafety.class)
@EnabledIfEnvironmentVariable(named = "SLUICE_TEST_ELASTICSEARCH_URL", matches = "http.*")
class RealElasticsearchIT {
    private static final String URL = System.getenv("SLUICE_TEST_ELASTICSEARCH_URL");
    private static final String INDEX = "sluice-it";
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    @BeforeEach
    void makeIndex() throws IOException, InterruptedException {
        ask("DELETE", "/" + INDEX, null);
        ask(
                "PUT",
                "/" + INDEX,
                "{\"mappings\":{\"properties\":{\"price\":{\"type\":\"integer\"}}},"
                        + "\"settings\":{\"number_of_replicas\":0}}");
    }

    private static String ask(String method, String path, String body) throws IOException, InterruptedException {
        HttpRequest.BodyPublisher publisher =
                body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body, UTF_8);
        HttpRequest request = HttpRequest.newBuilder(URI.create(URL + path))
                .header("Content-Type", "application/json")
                .method(method, publisher)
                .build();
        return HTTP.send(request, HttpResponse.BodyHandlers.ofString()).body();
    }

    private static long count() throws IOException, InterruptedException {
        ask("POST", "/" + INDEX + "/_refresh", null);
        String answer = ask("GET", "/" + INDEX + "/_count?filter_path=count", null);
        return Long.parseLong(answer.replaceAll("\\D", ""));
    }

    private static TaskHarness harness(String... more) {
        return new TaskHarness(URL, TaskHarness.settings(Map.of("index.name", INDEX), more));
    }

    /** Every record is indexed once, in bulks that reach across polls, and its offset may be committed. */
    @Test
    void everyRecordIsIndexedOnce() throws Exception {
        try (TaskHarness harness = harness("batch.size", "1009", "linger.ms", "20")) {
            for (int poll = 0; poll < 23; poll++) {
                List<SinkRecord> records = new ArrayList<>();
                for (int i = 0; i < 499; i++) {
                    records.add(harness.record(
                            "book-" + poll + "-" + i,
                            "{\n  \"title\": \"[중고] " + i + "\",\n  \"price\": " + i + "\n}"));
                }
                harness.put(records);
            }
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 23 * 499L), harness.fates());
            assertEquals(23 * 499L, harness.committable());
            assertEquals(23 * 499L, count());
        }
    }

    /** A task that is started again goes on in the index that is there, at once and with nothing sent twice. */
    @Test
    void aRestartedTaskGoesOnInTheIndexThatIsThere() throws Exception {
        for (String mayCreate : new String[] {"true", "false"}) {
            for (int life = 0; life < 3; life++) {
                try (TaskHarness harness = harness("auto.create", mayCreate)) {
                    List<SinkRecord> records = new ArrayList<>();
                    for (int i = 0; i < 997; i++) {
                        records.add(harness.record(mayCreate + life + "-" + i, "{\"price\":" + i + "}"));
                    }
                    harness.put(records);
                    harness.putUntilDecided();
                    assertEquals(Map.of("Indexed", 997L), harness.fates());
                    assertEquals(0, harness.attribute("BulkRetries") + harness.attribute("ItemRetries"));
                }
            }
        }
        assertEquals(6 * 997L, count());
    }

    /** Records read again after a restart are counted as already there, older ones than stored as stale. */
    @Test
    void aReplayIsAlreadyThereOrStale() throws Exception {
        try (TaskHarness harness = harness()) {
            harness.put(List.of(harness.record("a", "{\"price\":1}"), harness.record("b", "{\"price\":1}")));
            harness.put(List.of(harness.record("b", "{\"price\":2}")));
            harness.putUntilDecided();
            harness.seek(0);
            harness.put(List.of(
                    harness.record("a", "{\"price\":1}"),
                    harness.record("b", "{\"price\":1}"),
                    harness.record("b", "{\"price\":2}")));
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 2L, "Updated", 1L, "AlreadyThere", 2L, "Stale", 1L), harness.fates());
        }
    }

    /** With key.ignore a replay meets its own documents, which is a success. */
    @Test
    void aReplayOfCreatesIsAlreadyThere() throws Exception {
        try (TaskHarness harness = harness("key.ignore", "true", "behavior.on.null.values", "ignore")) {
            for (int round = 0; round < 2; round++) {
                harness.seek(0);
                harness.put(List.of(
                        harness.record(null, "{\"price\":1}"),
                        harness.record(null, null),
                        harness.record(null, "{\"price\":2}")));
                harness.putUntilDecided();
            }
            assertEquals(Map.of("Indexed", 2L, "AlreadyThere", 2L, "Dropped", 2L), harness.fates());
            assertTrue(ask("GET", "/" + INDEX + "/_doc/books%2B0%2B2", null).contains("\"price\":2"));
        }
    }

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
            harness.putUntilDecided();
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
            harness.putUntilDecided();
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
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 2L, "DeadLettered", 4L), harness.fates());
            assertEquals(2, count());
            assertTrue(ask("GET", "/" + INDEX + "/_doc/brace", null).contains("\"found\":false"));
            assertTrue(ask("GET", "/" + INDEX + "/_doc/good", null).contains(url.substring(0, url.length() - 1)));
        }
    }

    /** Eight bytes are the version that they are: 48 is newer than 47. */
    @Test
    void versionsOfEightBytesAreStored() throws Exception {
        try (TaskHarness harness = harness("external.version.header", "v")) {
            List<SinkRecord> records = new ArrayList<>();
            for (long version = 47; version < 51; version++) {
                SinkRecord record = harness.record("a", "{\"price\":" + version + "}");
                record.headers()
                        .add(
                                "v",
                                java.nio.ByteBuffer.allocate(8).putLong(version).array(),
                                null);
                records.add(record);
                harness.put(List.of(record));
                harness.putUntilDecided();
                String stored = ask("GET", "/" + INDEX + "/_doc/a", null);
                assertTrue(stored.contains("\"_version\":" + version + ","), stored);
                assertTrue(stored.contains("\"price\":" + version + ","), stored);
            }
            assertEquals(Map.of("Indexed", 1L, "Updated", 3L), harness.fates());
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
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 4L, "DeadLettered", 4L), harness.fates());
            assertEquals(4, count());
        }
    }

    /**
     * Each event of a key is stored where a data stream is said to be, also when the settings say that keys make ids. A
     * plain index takes the same creates, and every build of Elasticsearch has one.
     */
    @Test
    void keyedEventsInADataStreamAreAllStored() throws Exception {
        try (TaskHarness harness = harness(
                "behavior.on.null.values", "ignore",
                "external.resource.usage", "DATASTREAM",
                "topic.to.external.resource.mapping", "books:" + INDEX)) {
            for (int round = 0; round < 2; round++) {
                harness.seek(0);
                for (int event = 0; event < 3; event++) {
                    harness.put(List.of(harness.record(
                            "host-1", "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"price\":" + event + "}")));
                    harness.putUntilDecided();
                }
            }
            assertEquals(Map.of("Indexed", 3L, "AlreadyThere", 3L), harness.fates());
            assertEquals(3, count());
        }
    }

    /** An alias in upper case is written to under its name. */
    @Test
    void anAliasInUpperCaseIsWrittenTo() throws Exception {
        ask("PUT", "/" + INDEX + "/_alias/Sluice_Alias_IT", null);
        String[] mapping = mapping("Sluice_Alias_IT", "ALIAS_INDEX");
        assertEquals(List.of(), refusals(mapping));
        try (TaskHarness harness = harness(mapping)) {
            harness.put(List.of(harness.record("a", "{}")));
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 1L), harness.fates());
            assertEquals(1, count());
        }
    }

    /** With auto.create=false an index that was deleted while the task runs does not come back. */
    @Test
    void aDeletedIndexDoesNotComeBack() throws Exception {
        try (TaskHarness harness = harness("auto.create", "false", "flush.timeout.ms", "0")) {
            harness.put(List.of(harness.record("a", "{}")));
            harness.putUntilDecided();
            ask("DELETE", "/" + INDEX, null);
            Thread.sleep(1_103);
            harness.putUntilFailed(List.of(harness.record("b", "{}")));
            String answer = ask("GET", "/" + INDEX, null);
            assertTrue(answer.endsWith("\"status\":404}"), answer);
        }
    }

    /** A URL as a user copies it, with a slash at its end, is accepted and written to. */
    @Test
    void aSlashBehindTheUrlIsNoFault() throws Exception {
        assertEquals(List.of(), refusals("connection.url", URL + "/", "connection.username", "", "index.name", ""));
        try (TaskHarness harness = new TaskHarness(URL + "/", Map.of("index.name", INDEX))) {
            harness.put(List.of(harness.record("a", "{}")));
            harness.putUntilDecided();
            assertEquals(1, count());
        }
    }

    /** A tombstone deletes; one for a document that is not there is counted as already there. */
    @Test
    void tombstonesDelete() throws Exception {
        try (TaskHarness harness = harness()) {
            harness.put(List.of(
                    harness.record("a", "{\"price\":1}"), harness.record("a", null), harness.record("never", null)));
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 1L, "Deleted", 1L, "AlreadyThere", 1L), harness.fates());
            assertEquals(0, count());
        }
    }

    /** Upserts and deletes of one id keep their order, though several requests are in flight. */
    @Test
    void upsertsKeepTheirOrderPerKey() throws Exception {
        try (TaskHarness harness =
                harness("write.method", "upsert", "batch.size", "7", "max.in.flight.requests", "5")) {
            List<SinkRecord> records = new ArrayList<>();
            for (int i = 0; i < 997; i++) {
                boolean isDelete = i % 31 == 30;
                records.add(
                        harness.record("k" + i % 11, isDelete ? null : "{\"price\":" + i + ",\"f" + i % 3 + "\":1}"));
            }
            harness.put(records);
            harness.putUntilDecided();
            for (int key = 0; key < 11; key++) {
                int last = 996 - Math.floorMod(996 - key, 11);
                String stored = ask("GET", "/" + INDEX + "/_doc/k" + key, null);
                if (last % 31 == 30) {
                    assertTrue(stored.contains("\"found\":false"), stored);
                } else {
                    assertTrue(stored.contains("\"price\":" + last + ","), stored);
                }
            }
        }
    }

    /** An index that may not be created fails the task; one that exists is written to. */
    @Test
    void aMissingIndexFailsTheTaskWhenItMayNotBeCreated() throws Exception {
        try (TaskHarness harness = harness("auto.create", "false")) {
            harness.put(List.of(harness.record("a", "{}")));
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 1L), harness.fates());
        }
        try (TaskHarness harness = harness("auto.create", "false", "index.name", "sluice-it-missing")) {
            ConnectException failure = harness.putUntilFailed(List.of(harness.record("a", "{}")));
            assertEquals(
                    "bulk request to sluice-it-missing: status 404 index_not_found_exception: no index, alias or data"
                            + " stream has this name, and auto.create is false (attempt 1, first record concerned"
                            + " books-0@0)",
                    failure.getMessage());
        }
    }

    /** A tombstone that comes before its index does has nothing to delete, with upserts as well. */
    @Test
    void aTombstoneBeforeItsIndexIsAlreadyThere() throws Exception {
        ask("DELETE", "/" + INDEX, null);
        try (TaskHarness harness = harness("write.method", "upsert")) {
            harness.put(List.of(harness.record("a", null)));
            harness.putUntilDecided();
            harness.put(List.of(harness.record("a", "{\"price\":1}")));
            harness.putUntilDecided();
            assertEquals(Map.of("AlreadyThere", 1L, "Indexed", 1L), harness.fates());
            assertEquals(1, count());
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
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 12L, "DeadLettered", 1L), harness.fates());
            assertEquals(12, count());
            assertTrue(harness.deadLetters.get(0).startsWith("books-0@5: status 400 "), harness.deadLetters.get(0));
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
            assertEquals(List.of(), harness.deadLetters);
        }
    }

    /** The cluster is asked without any cluster privilege: a target that is missing is told of, one that is there is not. */
    @Test
    void theClusterIsAskedForItsTargets() throws Exception {
        ask("PUT", "/" + INDEX + "/_alias/sluice-alias-it", null);
        assertEquals(List.of(), refusals("index.name", INDEX));
        assertEquals(List.of(), refusals("index.name", INDEX, "auto.create", "false"));
        assertEquals(List.of(), refusals(mapping("sluice-alias-it", "ALIAS_INDEX")));
        assertEquals(
                List.of("auto.create: got sluice-it-missing for books, which does not exist, expected a target that"
                        + " does; create it first"),
                refusals("index.name", "sluice-it-missing", "auto.create", "false"));
        assertEquals(
                List.of("topic.to.external.resource.mapping: got sluice-alias-it for books, which is none of the"
                        + " indices, expected what external.resource.usage says"),
                refusals(mapping("sluice-alias-it", "INDEX")));
    }

    private static String[] mapping(String target, String usage) {
        return new String[] {"topic.to.external.resource.mapping", "books:" + target, "external.resource.usage", usage};
    }

    private static List<String> refusals(String... settings) {
        Map<String, String> given = new java.util.HashMap<>(Map.of("connection.url", URL, "topics", "books"));
        for (int i = 0; i < settings.length; i += 2) {
            given.put(settings[i], settings[i + 1]);
        }
        return new ElasticsearchSinkConnector()
                .validate(given).configValues().stream()
                        .flatMap(value -> value.errorMessages().stream())
                        .toList();
    }

    /** A data stream of any name takes creates with an @timestamp; what is read again is already there. */
    @Test
    void aReplayIntoADataStreamIsAlreadyThere() throws Exception {
        ask("DELETE", "/_data_stream/sluice-stream-it", null);
        ask(
                "PUT",
                "/_index_template/sluice-stream-it",
                "{\"index_patterns\":[\"sluice-stream-it\"],\"data_stream\":{},\"priority\":500,"
                        + "\"template\":{\"settings\":{\"number_of_replicas\":0}}}");
        String made = ask("PUT", "/_data_stream/sluice-stream-it", null);
        assumeTrue(made.contains("acknowledged"), "the server has no data streams: " + made);
        try (TaskHarness harness = harness(
                "key.ignore", "true",
                "behavior.on.null.values", "ignore",
                "external.resource.usage", "DATASTREAM",
                "topic.to.external.resource.mapping", "books:sluice-stream-it")) {
            for (int round = 0; round < 2; round++) {
                harness.seek(0);
                harness.put(List.of(
                        harness.record(null, "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"price\":1}"),
                        harness.record(null, "{\"@timestamp\":1,\"price\":2}")));
                harness.putUntilDecided();
            }
            assertEquals(Map.of("Indexed", 2L, "AlreadyThere", 2L), harness.fates());
        } finally {
            ask("DELETE", "/_data_stream/sluice-stream-it", null);
            ask("DELETE", "/_index_template/sluice-stream-it", null);
        }
    }

    /** An alias is written to like its index, with versions from a header, routing and Kafka's fields. */
    @Test
    void anAliasIsWrittenToWithAllThatIsAdded() throws Exception {
        ask("PUT", "/" + INDEX + "/_alias/sluice-alias-it", null);
        String[] settings = {
            "external.resource.usage", "ALIAS_INDEX",
            "topic.to.external.resource.mapping", "books:sluice-alias-it",
            "external.version.header", "v",
            "routing", "key",
            "metadata.fields", "topic,partition,offset,key",
            "connection.compression", "true"
        };
        try (TaskHarness harness = harness(settings)) {
            SinkRecord newer = harness.record("a", "{\"price\":2}");
            newer.headers().add("v", "1009".getBytes(UTF_8), null);
            SinkRecord older = harness.record("a", "{\"price\":1}");
            older.headers().add("v", "1000".getBytes(UTF_8), null);
            harness.put(List.of(newer, older));
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 1L, "Stale", 1L), harness.fates());
            String stored = ask("GET", "/" + INDEX + "/_doc/a?routing=a", null);
            assertTrue(stored.contains("\"_version\":1009"), stored);
            assertTrue(
                    stored.contains("{\"kafka\":{\"topic\":\"books\",\"partition\":0,\"offset\":0,\"key\":\"a\"},"
                            + "\"price\":2,"),
                    stored);
        }
    }

    /** A document is found by the routing that stands in it; one without it by its id. */
    @Test
    void documentsAreRoutedByWhatStandsInThem() throws Exception {
        ask("DELETE", "/" + INDEX, null);
        ask("PUT", "/" + INDEX, "{\"settings\":{\"number_of_shards\":5,\"number_of_replicas\":0}}");
        try (TaskHarness harness = harness("routing", "/subInfo/shop", "behavior.on.null.values", "ignore")) {
            harness.put(List.of(
                    harness.record("a", "{\"subInfo\":{\"shop\":\"s7\"}}"),
                    harness.record("b", "{\"subInfo\":{\"shop\":{}}}"),
                    harness.record("c", "{\"subInfo\":{}}")));
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 2L, "DeadLettered", 1L), harness.fates());
            String stored = ask("GET", "/" + INDEX + "/_doc/a?routing=s7", null);
            assertTrue(stored.contains("\"_routing\":\"s7\""), stored);
            String unrouted = ask("GET", "/" + INDEX + "/_doc/c", null);
            assertTrue(unrouted.contains("\"found\":true") && !unrouted.contains("_routing"), unrouted);
        }
    }

    /** Two indices by date, made by Elasticsearch. */
    @Test
    void datesMakeIndices() throws Exception {
        ask("DELETE", "/sluice-it-2024.02.28,sluice-it-2024.02.29", null);
        try (TaskHarness harness = harness(
                "index.name",
                INDEX + "-{yyyy.MM.dd}",
                "use.autogenerated.ids",
                "true",
                "key.ignore",
                "true",
                "behavior.on.null.values",
                "ignore")) {
            for (long timestamp : new long[] {1_709_164_799_999L, 1_709_164_800_000L}) {
                SinkRecord record = harness.record(null, null);
                harness.put(List.of(new SinkRecord(
                        "books",
                        0,
                        null,
                        null,
                        null,
                        "{}".getBytes(UTF_8),
                        record.kafkaOffset(),
                        timestamp,
                        org.apache.kafka.common.record.TimestampType.CREATE_TIME)));
            }
            harness.putUntilDecided();
            assertEquals(Map.of("Indexed", 2L), harness.fates());
            for (String day : new String[] {"28", "29"}) {
                ask("POST", "/sluice-it-2024.02." + day + "/_refresh", null);
                assertEquals(
                        "{\"count\":1}", ask("GET", "/sluice-it-2024.02." + day + "/_count?filter_path=count", null));
            }
        } finally {
            ask("DELETE", "/sluice-it-2024.02.28,sluice-it-2024.02.29", null);
        }
    }
}
