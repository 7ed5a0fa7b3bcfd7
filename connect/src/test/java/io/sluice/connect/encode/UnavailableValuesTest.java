package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.debezium.data.Json;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.junit.jupiter.api.Test;

/** Columns that Debezium has no value for: Postgres logs no large value that an update leaves as it is. */
class UnavailableValuesTest {
    private static final String PLACEHOLDER = "__debezium_unavailable_value";
    private static final Schema NUMBERS =
            SchemaBuilder.array(Schema.INT32_SCHEMA).build();
    private static final Schema TEXTS =
            SchemaBuilder.array(Schema.STRING_SCHEMA).build();
    private static final Schema TEXTS_BY_NAME =
            SchemaBuilder.map(Schema.STRING_SCHEMA, Schema.STRING_SCHEMA).build();
    private static final Schema ROW = SchemaBuilder.struct()
            .field("id", Schema.INT64_SCHEMA)
            .field("body", Schema.STRING_SCHEMA)
            .field("json", Json.schema())
            .field("bytes", Schema.BYTES_SCHEMA)
            .field("texts", TEXTS)
            .field("numbers", NUMBERS)
            .field("hstore", TEXTS_BY_NAME)
            .field("last", Schema.STRING_SCHEMA)
            .build();

    private static List<Integer> bytesOf(String text) {
        List<Integer> bytes = new ArrayList<>();
        for (byte b : text.getBytes(UTF_8)) {
            bytes.add((int) b);
        }
        return bytes;
    }

    /** Every column but the first and the last one is of a type that large values have. */
    private static Struct row(String value, String json) {
        return new Struct(ROW)
                .put("id", 1009L)
                .put("body", value)
                .put("json", json)
                .put("bytes", ByteBuffer.wrap(value.getBytes(UTF_8)))
                .put("texts", List.of(value))
                .put("numbers", bytesOf(value))
                .put("hstore", Map.of(value, value))
                .put("last", "z");
    }

    private static String upsert(String doc) {
        return "{\"doc\":" + doc + ",\"doc_as_upsert\":true}";
    }

    @Test
    void anUpsertLeavesOutTheColumnsWithoutAValue() throws Exception {
        Encoding encoding = new Encoding("write.method", "upsert");
        assertEquals(
                upsert("{\"id\":1009,\"last\":\"z\"}"),
                encoding.document(Encoding.value(ROW, row(PLACEHOLDER, PLACEHOLDER))));
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("id", 1009);
        map.put("body", PLACEHOLDER);
        map.put("bytes", PLACEHOLDER.getBytes(UTF_8));
        map.put("hstore", "{\"" + PLACEHOLDER + "\":\"" + PLACEHOLDER + "\"}");
        map.put(
                "uuids",
                List.of(UUID.nameUUIDFromBytes(PLACEHOLDER.getBytes(UTF_8)).toString()));
        map.put("last", "z");
        assertEquals(upsert("{\"id\":1009,\"last\":\"z\"}"), encoding.document(Encoding.value(null, map)));
    }

    /** What only resembles the placeholder is a value; so is what lies deeper than a column. */
    @Test
    void anUpsertWritesEveryOtherValue() throws Exception {
        Encoding encoding = new Encoding("write.method", "upsert");
        assertEquals(
                upsert("{\"id\":1009,\"body\":\"a\",\"json\":{},\"bytes\":\"YQ==\",\"texts\":[\"a\"],\"numbers\":[97],"
                        + "\"hstore\":{\"a\":\"a\"},\"last\":\"z\"}"),
                encoding.document(Encoding.value(ROW, row("a", "{}"))));
        List<Integer> similar = bytesOf(PLACEHOLDER);
        similar.set(27, 0);
        Object[][] values = {
            {PLACEHOLDER + "s", "\"" + PLACEHOLDER + "s\""},
            {List.of(PLACEHOLDER, "a"), "[\"" + PLACEHOLDER + "\",\"a\"]"},
            {Map.of("a", PLACEHOLDER), "{\"a\":\"" + PLACEHOLDER + "\"}"},
            {similar, similar.toString().replace(" ", "")},
        };
        for (Object[] value : values) {
            assertEquals(
                    upsert("{\"f\":" + value[1] + "}"), encoding.document(Encoding.value(null, Map.of("f", value[0]))));
        }
    }

    @Test
    void thePlaceholderIsThatOfTheSource() throws Exception {
        Encoding encoding = new Encoding("write.method", "upsert", "unavailable.value.placeholder", "?");
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("body", PLACEHOLDER);
        map.put("more", "?");
        assertEquals(upsert("{\"body\":\"" + PLACEHOLDER + "\"}"), encoding.document(Encoding.value(null, map)));
    }

    /** Nothing is stored that a document which replaces the stored one could keep. */
    @Test
    void anInsertWritesThePlaceholder() throws Exception {
        assertEquals(
                "{\"f\":\"" + PLACEHOLDER + "\"}",
                new Encoding().document(Encoding.value(null, Map.of("f", PLACEHOLDER))));
    }
}
