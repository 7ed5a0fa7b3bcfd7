package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.debezium.data.Envelope;
import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.encode.MalformedRecordException;
import io.sluice.connect.encode.RecordEncoder;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.offset.Origin;
import io.sluice.connect.offset.PartitionOffsets;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;

/** Values that another converter should have read are told from others by their first bytes, and words say which. */
class MisreadValuesTest {
    private static final Schema BOOK =
            SchemaBuilder.struct().field("title", Schema.STRING_SCHEMA).build();

    private static final Schema SOURCE =
            SchemaBuilder.struct().field("lsn", Schema.INT64_SCHEMA).build();

    private final PartitionOffsets partition = new PartitionOffsets(new SinkMetrics().ledgerOf("books", 0));
    private final RecordEncoder encoder =
            new RecordEncoder(new SinkConfig(Map.of("connection.url", "http://localhost:9")));

    private void encode(String topic, Object value) throws MalformedRecordException {
        SinkRecord record = new SinkRecord(topic, 0, null, "k", null, value, 0);
        encoder.encode(new Delivery(record, partition, Origin.of(record), 1, -1));
    }

    private static byte[] envelope(Schema schema, Object value) {
        try (JsonConverter converter = new JsonConverter()) {
            converter.configure(Map.of("schemas.enable", "true"), false);
            return converter.fromConnectData("books", schema, value);
        }
    }

    /** What a registry's serializer made, read as bytes or as a string. */
    @Test
    void aRegistrysWireFormatIsNamed() {
        byte[] bytes = {0, 0, 0, 3, (byte) 0xf1, 6, 'a', 'b', 'c'};
        String words = "; byte 0 and schema id 1009 before it are a schema registry's wire format: set its converter"
                + " as value.converter";
        String refusal = assertThrows(MalformedRecordException.class, () -> encode("books", bytes))
                .getMessage();
        assertEquals(
                "record value: got 9 bytes that are wrong from byte 0 on, expected one JSON object in UTF-8" + words,
                refusal);
        byte[] json = "\0\0\0\3\u0071{\"a\":1}".getBytes(UTF_8);
        assertEquals(
                true,
                assertThrows(MalformedRecordException.class, () -> encode("books", new String(json, UTF_8)))
                        .getMessage()
                        .contains("schema id 881 "));
    }

    @Test
    void anEnvelopeIsIndexedWithOneWarningForItsTopic() throws Exception {
        try (CapturedLog log = new CapturedLog()) {
            for (int again = 0; again < 3; again++) {
                encode("books", envelope(BOOK, new Struct(BOOK).put("title", "Emma")));
                encode("films", new String(envelope(null, Map.of("a", 1)), UTF_8));
                encode("other", "{\"schema\":{\"types\":1},\"payload\":1}");
                encode("other", "{\"schema\":\"a\"}");
            }
            List<String> warnings = log.linesWith("JsonConverter indexes the payload alone");
            assertEquals(2, warnings.size(), warnings.toString());
            assertEquals(
                    1,
                    log.linesWith("Topic books: got values like {\"schema\":...,\"payload\":...}")
                            .size());
        }
    }

    private static Map<String, Object> event(String op, Object before, Object after, Object source) {
        Map<String, Object> event = new HashMap<>();
        event.put("op", op);
        event.put("before", before);
        event.put("after", after);
        event.put("source", source);
        return event;
    }

    @Test
    void changeEventsAreIndexedWithOneWarningForTheirTopic() throws Exception {
        Envelope envelope = Envelope.defineSchema()
                .withName("books.Envelope")
                .withRecord(SchemaBuilder.struct()
                        .optional()
                        .field("title", Schema.STRING_SCHEMA)
                        .build())
                .withSource(SOURCE)
                .build();
        Struct source = new Struct(SOURCE).put("lsn", 1_009L);
        Struct row = new Struct(envelope.schema().field("after").schema()).put("title", "Emma");
        try (CapturedLog log = new CapturedLog()) {
            for (int again = 0; again < 3; again++) {
                encode("books", envelope.create(row, source, Instant.EPOCH));
                encode("books", envelope.delete(row, source, Instant.EPOCH));
                encode("films", event("u", null, Map.of("id", 7), Map.of("lsn", 1)));
            }
            assertEquals(
                    2,
                    log.linesWith("ExtractNewRecordState indexes the row alone").size());
            assertEquals(
                    1,
                    log.linesWith("Topic books: got Debezium's change events").size());
        }
    }

    /** Fields of the same names do not make an event of a row, nor are keys of a sorted map strings. */
    @Test
    void rowsAreNotTakenForChangeEvents() throws Exception {
        try (CapturedLog log = new CapturedLog()) {
            encode("books", event("refund", Map.of("id", 7), null, "till"));
            encode("books", event("refund", 1, 2, Map.of("till", 3)));
            encode("books", event(null, Map.of("id", 7), null, Map.of("till", 3)));
            encode("books", new TreeMap<>(Map.of(7, "a")));
            encode("books", new Struct(BOOK).put("title", "Emma"));
            assertEquals(List.of(), log.linesWith("change events"));
        }
    }
}
