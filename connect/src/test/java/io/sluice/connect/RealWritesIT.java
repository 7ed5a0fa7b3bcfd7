package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** What is stored of good records, in which order, and how it is counted; the server as for {@link RealElasticsearch}. */
@EnabledIfEnvironmentVariable(named = "SLUICE_TEST_ELASTICSEARCH_URL", matches = "http.*")
class RealWritesIT extends RealElasticsearch {
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
            harness.putUntilCompleted();
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
                    harness.putUntilCompleted();
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
            harness.putUntilCompleted();
            harness.seek(0);
            harness.put(List.of(
                    harness.record("a", "{\"price\":1}"),
                    harness.record("b", "{\"price\":1}"),
                    harness.record("b", "{\"price\":2}")));
            harness.putUntilCompleted();
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
                harness.putUntilCompleted();
            }
            assertEquals(Map.of("Indexed", 2L, "AlreadyThere", 2L, "Dropped", 2L), harness.fates());
            assertTrue(ask("GET", "/" + INDEX + "/_doc/books%2B0%2B2", null).contains("\"price\":2"));
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
                harness.putUntilCompleted();
                String stored = ask("GET", "/" + INDEX + "/_doc/a", null);
                assertTrue(stored.contains("\"_version\":" + version + ","), stored);
                assertTrue(stored.contains("\"price\":" + version + ","), stored);
            }
            assertEquals(Map.of("Indexed", 1L, "Updated", 3L), harness.fates());
        }
    }

    /** A tombstone deletes; one for a document that is not there is counted as already there. */
    @Test
    void tombstonesDelete() throws Exception {
        try (TaskHarness harness = harness()) {
            harness.put(List.of(
                    harness.record("a", "{\"price\":1}"), harness.record("a", null), harness.record("never", null)));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 1L, "Deleted", 1L, "AlreadyThere", 1L), harness.fates());
            assertEquals(0, count());
        }
    }

    /** A tombstone that comes before its index does has nothing to delete, with upserts as well. */
    @Test
    void aTombstoneBeforeItsIndexIsAlreadyThere() throws Exception {
        ask("DELETE", "/" + INDEX, null);
        try (TaskHarness harness = harness("write.method", "upsert")) {
            harness.put(List.of(harness.record("a", null)));
            harness.putUntilCompleted();
            harness.put(List.of(harness.record("a", "{\"price\":1}")));
            harness.putUntilCompleted();
            assertEquals(Map.of("AlreadyThere", 1L, "Indexed", 1L), harness.fates());
            assertEquals(1, count());
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
            harness.putUntilCompleted();
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
}
