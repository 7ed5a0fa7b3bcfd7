package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.debezium.data.VariableScaleDecimal;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.LocalDate;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.connect.data.Date;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.data.Timestamp;
import org.junit.jupiter.api.Test;

/** Keys and headers of every type, as ids, routings and fields of metadata. */
class KeysAndHeadersTest {
    private static final Schema ID =
            SchemaBuilder.struct().field("id", Schema.INT64_SCHEMA).build();
    private static final java.util.Date DATE = new java.util.Date(20_783 * 86_400_000L);

    private static String idOf(Schema schema, Object key) throws MalformedRecordException {
        String action = new Encoding().action(Encoding.key(schema, key));
        return action.replaceAll(".*\"_id\":\"(.*)\",\"version_type.*", "$1");
    }

    @Test
    void singleValuesMakeIds() throws Exception {
        Object[][] keys = {
            {Schema.STRING_SCHEMA, "a b", "a b"},
            {Schema.INT8_SCHEMA, (byte) 7, "7"},
            {Schema.FLOAT64_SCHEMA, 1.0, "1.0"},
            {Schema.BOOLEAN_SCHEMA, true, "true"},
            {
                Schema.BYTES_SCHEMA,
                ByteBuffer.wrap("xab".getBytes(UTF_8)).position(1).slice(),
                "ab"
            },
            {Decimal.schema(2), new BigDecimal("1.10"), "1.10"},
            {Date.SCHEMA, DATE, "2026-11-26"},
            {Time.SCHEMA, new java.util.Date(1), "00:00:00.001"},
            {Timestamp.SCHEMA, DATE, "2026-11-26T00:00:00.000Z"},
            {io.debezium.time.Date.schema(), 20_783, "20783"},
            {null, DATE, "2026-11-26T00:00:00.000Z"},
            {null, new UUID(1, 2), "00000000-0000-0001-0000-000000000002"},
            {null, TimeUnit.DAYS, "DAYS"},
            {null, LocalDate.of(2026, 11, 26), "2026-11-26"},
            {
                VariableScaleDecimal.schema(),
                VariableScaleDecimal.fromLogical(VariableScaleDecimal.schema(), new BigDecimal("5094.61")),
                "5094.61"
            },
        };
        for (Object[] key : keys) {
            assertEquals(key[2], idOf((Schema) key[0], key[1]));
        }
    }

    @Test
    void aStructIsNoIdAndTheRefusalSaysWhatToDo() {
        String remedy = ", expected bytes, a string or a number (it becomes the document's _id); take one of its fields"
                + " with the transform ExtractField$Key, or set key.ignore=true";
        Encoding encoding = new Encoding();
        assertEquals(
                "record key: got a Struct" + remedy,
                encoding.refusal(Encoding.key(ID, new Struct(ID).put("id", 1009L))));
        assertEquals(
                "record key: got a LinkedHashMap" + remedy,
                encoding.refusal(Encoding.key(null, new LinkedHashMap<>(Map.of("id", 1009)))));
        assertEquals(
                "record key: got none, expected bytes, a string or a number (it becomes the document's _id)",
                encoding.refusal(Encoding.key(null, null)));
    }

    @Test
    void idsDoNotDependOnTheFormatOfValues() throws Exception {
        Encoding encoding = new Encoding("temporal.format", "epoch");
        assertEquals(
                "{\"index\":{\"_id\":\"2026-11-26\",\"version_type\":\"external\",\"version\":41}}",
                encoding.action(Encoding.key(Date.SCHEMA, DATE)));
    }

    @Test
    void headersOfAnyTypeAreRoutings() throws Exception {
        Encoding encoding = new Encoding("routing", "header:h");
        assertEquals(
                "{\"index\":{\"_id\":\"k\",\"routing\":\"2026-11-26\",\"version_type\":\"external\",\"version\":41}}",
                encoding.action(Encoding.header(Date.SCHEMA, DATE)));
        assertEquals(
                "record header h: got a Struct, expected bytes, a string or a number (it becomes the document's"
                        + " routing)",
                encoding.refusal(Encoding.header(ID, new Struct(ID).put("id", 1009L))));
    }

    @Test
    void versionsComeInBuffersOfAnyKind() throws Exception {
        Encoding encoding = new Encoding("external.version.header", "h");
        ByteBuffer slice =
                ByteBuffer.allocateDirect(12).putLong(2, 1009).slice(2, 8).asReadOnlyBuffer();
        assertEquals(1009, encoding.operation(Encoding.header(null, slice)).version());
    }

    @Test
    void metadataIsWrittenLikeValues() throws Exception {
        Encoding encoding = new Encoding("metadata.fields", "key,headers");
        Struct struct = new Struct(ID).put("id", 1009L);
        Object[][] values = {
            {ID, struct, "{\"id\":1009}"},
            {null, Map.of("id", 1009), "{\"id\":1009}"},
            {null, List.of(1, "a"), "[1,\"a\"]"},
            {Date.SCHEMA, DATE, "\"2026-11-26\""},
            {Decimal.schema(2), new BigDecimal("1.10"), "1.10"},
            {null, ByteBuffer.wrap("xab".getBytes(UTF_8)).position(1).slice(), "\"ab\""},
            {null, ByteBuffer.allocateDirect(1).put(0, (byte) -1).asReadOnlyBuffer(), "\"/w==\""},
            {null, "a\"b", "\"a\\\"b\""},
            {null, new UUID(1, 2), "\"00000000-0000-0001-0000-000000000002\""},
        };
        for (Object[] value : values) {
            assertEquals(
                    "{\"kafka\":{\"key\":\"k\",\"headers\":{\"h\":" + value[2] + "}}}",
                    encoding.document(Encoding.header((Schema) value[0], value[1])));
            assertEquals(
                    "{\"kafka\":{\"key\":" + value[2] + ",\"headers\":{}}}",
                    new Encoding("metadata.fields", "key,headers", "key.ignore", "true")
                            .document(Encoding.key((Schema) value[0], value[1])));
        }
    }

    @Test
    void aHeaderWithoutARightJsonIsNamed() {
        Encoding encoding = new Encoding("metadata.fields", "headers");
        assertEquals(
                "record header h: got NaN in a Double, expected a finite number",
                encoding.refusal(Encoding.header(Schema.FLOAT64_SCHEMA, Double.NaN)));
        assertEquals(
                "record header h at /a: got an Object, expected one of Connect's types",
                encoding.refusal(Encoding.header(null, Map.of("a", new Object()))));
    }
}
