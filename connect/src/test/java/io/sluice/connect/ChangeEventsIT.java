package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.debezium.data.Envelope;
import io.debezium.data.Json;
import io.debezium.data.VariableScaleDecimal;
import io.debezium.time.MicroTimestamp;
import io.debezium.transforms.ExtractNewRecordState;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;

/**
 * Debezium's change events, written by JsonConverter with schemas, on their usual way: a worker that reads them, takes the
 * row out of each with Debezium's own transform, and the id out of its key with Kafka's or by itself.
 */
class ChangeEventsIT {
    private static final Schema KEY = SchemaBuilder.struct()
            .name("shop.public.books.Key")
            .field("id", Schema.INT64_SCHEMA)
            .build();
    private static final Schema KEY_OF_TWO = SchemaBuilder.struct()
            .name("shop.public.books.Key")
            .field("shop", Schema.STRING_SCHEMA)
            .field("id", Schema.INT64_SCHEMA)
            .build();
    private static final Schema ROW = SchemaBuilder.struct()
            .name("shop.public.books.Value")
            .optional()
            .field("id", Schema.INT64_SCHEMA)
            .field("published", io.debezium.time.Date.schema())
            .field("changed", MicroTimestamp.schema())
            .field("price", Decimal.schema(2))
            .field("weight", VariableScaleDecimal.schema())
            .field("attributes", Json.schema())
            .build();
    private static final Schema SOURCE =
            SchemaBuilder.struct().field("lsn", Schema.INT64_SCHEMA).build();
    private static final Envelope ENVELOPE = Envelope.defineSchema()
            .withName("shop.public.books.Envelope")
            .withRecord(ROW)
            .withSource(SOURCE)
            .build();
    private static final String ROW_JSON =
            "\"id\":%d,\"published\":\"2026-11-26\",\"changed\":\"2026-11-26T13:18:19.123456Z\","
                    + "\"price\":12.3,\"weight\":0.125,\"attributes\":{\"pages\":[432]}";

    private final JsonConverter keys = new JsonConverter();
    private final JsonConverter values = new JsonConverter();
    private Schema key = KEY;
    private long lsnStep;
    private long offset;

    ChangeEventsIT() {
        keys.configure(Map.of(), true);
        values.configure(Map.of(), false);
    }

    private static Struct row(long id) {
        return new Struct(ROW)
                .put("id", id)
                .put("published", 20_783)
                .put("changed", 1_795_699_099_123_456L)
                .put("price", new BigDecimal("12.30"))
                .put("weight", VariableScaleDecimal.fromLogical(VariableScaleDecimal.schema(), new BigDecimal("0.125")))
                .put("attributes", "{\"pages\":\n[432]}");
    }

    private Struct source() {
        return new Struct(SOURCE).put("lsn", 1_009 + lsnStep * offset);
    }

    private SinkRecord record(long id, Struct event) {
        Struct fields = new Struct(key).put("id", id);
        byte[] json = keys.fromConnectData("books", key, key == KEY ? fields : fields.put("shop", "a:b"));
        byte[] value = event == null ? null : values.fromConnectData("books", ENVELOPE.schema(), event);
        return new SinkRecord("books", 0, null, json, null, value, offset++);
    }

    private List<SinkRecord> history() {
        Instant now = Instant.ofEpochMilli(1);
        return List.of(
                record(1, ENVELOPE.read(row(1), source(), now)),
                record(2, ENVELOPE.create(row(2), source(), now)),
                record(3, ENVELOPE.create(row(3), source(), now)),
                record(2, ENVELOPE.update(row(2), row(2), source(), now)),
                record(3, ENVELOPE.delete(row(3), source(), now)),
                record(3, null));
    }

    private Map<String, String> documentsAfter(Map<String, Long> fates, String... settings) throws Exception {
        Map<String, String> usual = TaskHarness.settings(
                Map.of(
                        "key.converter",
                        JsonConverter.class.getName(),
                        "value.converter",
                        JsonConverter.class.getName(),
                        "transforms",
                        "row,id",
                        "transforms.row.type",
                        ExtractNewRecordState.class.getName(),
                        "transforms.id.type",
                        "org.apache.kafka.connect.transforms.ExtractField$Key",
                        "transforms.id.field",
                        "id"),
                settings);
        try (PlayedCluster cluster = new PlayedCluster(1, new Dice(0), 0);
                TaskHarness harness = new TaskHarness(cluster.urls(), usual)) {
            harness.put(history());
            harness.putUntilCompleted();
            assertEquals(fates, harness.fates(), harness.deadLetters.toString());
            Map<String, String> documents = new TreeMap<>();
            cluster.stored("books")
                    .forEach((id, document) ->
                            documents.put(id, document.source().toString()));
            return documents;
        }
    }

    private static String json(long id, String more) {
        return "{" + String.format(ROW_JSON, id) + more + "}";
    }

    /** A delete's tombstone deletes; the transform leaves its event out. */
    @Test
    void rowsAreIndexedAndDeleted() throws Exception {
        Map<String, Long> fates = Map.of("Indexed", 3L, "Updated", 1L, "Deleted", 1L);
        assertEquals(
                Map.of("1", json(1, ""), "2", json(2, "")),
                documentsAfter(fates, "transforms.row.delete.tombstone.handling.mode", "tombstone"));
    }

    /** A primary key of two columns needs no transform, and its tombstone finds the document. */
    @Test
    void rowsOfAKeyOfTwoColumnsAreIndexedAndDeleted() throws Exception {
        key = KEY_OF_TWO;
        Map<String, Long> fates = Map.of("Indexed", 3L, "Updated", 1L, "Deleted", 1L);
        String[] settings = {"transforms", "row", "transforms.row.delete.tombstone.handling.mode", "tombstone"};
        assertEquals(Map.of("a\\:b:1", json(1, ""), "a\\:b:2", json(2, "")), documentsAfter(fates, settings));
    }

    /** Of deletes, too: the transform gives its tombstones the header. Events that come in the wrong order are stale. */
    @Test
    void thePlaceInTheDatabasesLogIsTheVersion() throws Exception {
        String[] settings = {
            "transforms.row.delete.tombstone.handling.mode",
            "tombstone",
            "transforms.row.add.headers",
            "source.lsn",
            "external.version.header",
            "__source_lsn"
        };
        lsnStep = 100;
        assertEquals(
                Map.of("1", json(1, ""), "2", json(2, "")),
                documentsAfter(Map.of("Indexed", 3L, "Updated", 1L, "Deleted", 1L), settings));
        offset = 0;
        lsnStep = -100;
        assertEquals(
                Set.of("1", "2", "3"),
                documentsAfter(Map.of("Indexed", 3L, "Stale", 2L), settings).keySet());
    }

    /** Rewritten deletes are documents that say so, with what the event was. */
    @Test
    void rewrittenDeletesAreDocuments() throws Exception {
        Map<String, String> documents = documentsAfter(
                Map.of("Indexed", 3L, "Updated", 2L),
                "transforms.row.delete.tombstone.handling.mode",
                "rewrite",
                "transforms.row.add.fields",
                "op,source.lsn");
        assertEquals(
                Map.of(
                        "1", json(1, ",\"__deleted\":\"false\",\"__op\":\"r\",\"__source_lsn\":1009"),
                        "2", json(2, ",\"__deleted\":\"false\",\"__op\":\"u\",\"__source_lsn\":1009"),
                        "3", json(3, ",\"__deleted\":\"true\",\"__op\":\"d\",\"__source_lsn\":1009")),
                documents);
    }

    /** With the field named they delete instead; a tombstone behind one finds nothing more to delete. */
    @Test
    void rewrittenDeletesDelete() throws Exception {
        String row = ",\"__deleted\":\"false\"";
        Map<String, String> rows = Map.of("1", json(1, row), "2", json(2, row));
        String[] settings = {"transforms.row.delete.tombstone.handling.mode", "rewrite", "deleted.field", "__deleted"};
        assertEquals(rows, documentsAfter(Map.of("Indexed", 3L, "Updated", 1L, "Deleted", 1L), settings));
        settings[1] = "rewrite-with-tombstone";
        assertEquals(
                rows,
                documentsAfter(Map.of("Indexed", 3L, "Updated", 1L, "Deleted", 1L, "AlreadyThere", 1L), settings));
    }

    /** Of rewritten deletes, too: one that is older than what is stored is stale. */
    @Test
    void thePlaceInTheDatabasesLogIsARewrittenDeletesVersion() throws Exception {
        String[] settings = {
            "transforms.row.delete.tombstone.handling.mode",
            "rewrite",
            "deleted.field",
            "__deleted",
            "transforms.row.add.headers",
            "source.lsn",
            "external.version.header",
            "__source_lsn"
        };
        lsnStep = 100;
        assertEquals(
                Set.of("1", "2"),
                documentsAfter(Map.of("Indexed", 3L, "Updated", 1L, "Deleted", 1L), settings)
                        .keySet());
        offset = 0;
        lsnStep = -100;
        assertEquals(
                Set.of("1", "2", "3"),
                documentsAfter(Map.of("Indexed", 3L, "Stale", 2L), settings).keySet());
    }
}
