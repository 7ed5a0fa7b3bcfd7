package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.debezium.data.VariableScaleDecimal;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
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

    /** JSON may hold half a character, and JsonConverter hands it over. */
    @Test
    void halfACharacterMakesNoId() throws Exception {
        assertEquals("\ud83d\ude00", idOf(Schema.STRING_SCHEMA, "\ud83d\ude00"));
        for (String half : new String[] {"\ud800", "a\udc00"}) {
            MalformedRecordException refusal =
                    assertThrows(MalformedRecordException.class, () -> idOf(Schema.STRING_SCHEMA, half));
            assertEquals("record key: got half a surrogate pair, expected text", refusal.getMessage());
        }
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

    /** As {@code ExtractField$Key} makes them. */
    @Test
    void aKeyOfOneFieldMakesTheIdOfItsValue() throws Exception {
        assertEquals("1009", idOf(ID, new Struct(ID).put("id", 1009L)));
        Schema text = SchemaBuilder.struct().field("id", Schema.STRING_SCHEMA).build();
        assertEquals("a:b", idOf(text, new Struct(text).put("id", "a:b")));
    }

    @Test
    void fieldsOfAKeyAreJoinedInTheOrderOfTheSchema() throws Exception {
        Schema key = SchemaBuilder.struct()
                .name("shop.public.lines.Key")
                .field("shop", Schema.INT32_SCHEMA)
                .field("day", Date.SCHEMA)
                .field("code", Schema.BYTES_SCHEMA)
                .field("price", VariableScaleDecimal.schema())
                .build();
        Struct given = new Struct(key)
                .put("price", VariableScaleDecimal.fromLogical(VariableScaleDecimal.schema(), new BigDecimal("1.50")))
                .put("code", new byte[] {0, -1, 16})
                .put("day", DATE)
                .put("shop", 7);
        assertEquals("7:2026-11-26:AP8Q:1.50", idOf(key, given));
    }

    /** Among them pairs that only a separator in a value tells apart: a:b and c, a and b:c. */
    @Test
    void keysThatDifferMakeIdsThatDiffer() throws Exception {
        Schema key = SchemaBuilder.struct()
                .field("one", Schema.STRING_SCHEMA)
                .field("two", Schema.STRING_SCHEMA)
                .build();
        List<String> values = List.of("", "a", ":", "\\", "a:b", "b:a", "\\:", ":\\", "a\\", "\\\\", "::", "a:");
        Set<String> ids = new HashSet<>();
        for (String one : values) {
            for (String two : values) {
                ids.add(idOf(key, new Struct(key).put("one", one).put("two", two)));
            }
        }
        assertEquals(values.size() * values.size(), ids.size());
    }

    @Test
    void keyFieldsAreTakenInTheOrderGiven() throws Exception {
        Encoding encoding = new Encoding("key.fields", "shop, id", "routing", "key");
        String action = "{\"index\":{\"_id\":\"a\\\\:b:1009\",\"routing\":\"a\\\\:b:1009\","
                + "\"version_type\":\"external\",\"version\":41}}";
        Schema key = SchemaBuilder.struct()
                .field("id", Schema.INT64_SCHEMA)
                .field("shop", Schema.STRING_SCHEMA)
                .field("more", Schema.INT64_SCHEMA)
                .build();
        Struct struct = new Struct(key).put("id", 1009L).put("shop", "a:b").put("more", 1L);
        assertEquals(action, encoding.action(Encoding.key(key, struct)));
        assertEquals(action, encoding.action(Encoding.key(null, Map.of("id", 1009, "shop", "a:b", "more", 1))));
        assertEquals(
                "record key: got no field shop, expected one (key.fields)",
                encoding.refusal(Encoding.key(ID, new Struct(ID).put("id", 1009L))));
        assertEquals(
                "record key: got no field shop, expected one (key.fields)",
                encoding.refusal(Encoding.key(null, Map.of("id", 1009))));
    }

    @Test
    void aKeyThatMakesNoIdIsRefusedWithWhatToDo() {
        Encoding encoding = new Encoding();
        assertEquals(
                "record key: got a LinkedHashMap, expected bytes, a string, a number or a struct; name its fields in"
                        + " key.fields, or set key.ignore=true",
                encoding.refusal(Encoding.key(null, new LinkedHashMap<>(Map.of("id", 1009)))));
        assertEquals(
                "record key: got none, expected bytes, a string or a number (it becomes the document's _id)",
                encoding.refusal(Encoding.key(null, null)));
        assertEquals(
                "record key: got an ArrayList, expected bytes, a string or a number (it becomes the document's _id)",
                encoding.refusal(Encoding.key(null, new ArrayList<>(List.of(1)))));
    }

    /** The field is named, its value is not quoted. */
    @Test
    void aFieldOfAKeyThatMakesNoPartOfAnIdIsNamed() {
        Schema key = SchemaBuilder.struct()
                .field("id", Schema.INT64_SCHEMA)
                .field("floor", Schema.OPTIONAL_INT64_SCHEMA)
                .field(
                        "inner",
                        SchemaBuilder.type(Schema.Type.STRUCT).optional().build())
                .build();
        Encoding encoding = new Encoding();
        assertEquals(
                "record key at /floor: got null, expected a value (it becomes part of an _id)",
                encoding.refusal(Encoding.key(key, new Struct(key).put("id", 1009L))));
        Struct nested = new Struct(key)
                .put("id", 1009L)
                .put("floor", 1L)
                .put("inner", new Struct(key.field("inner").schema()));
        assertEquals(
                "record key at /inner: got a Struct, expected bytes, a string or a number (it becomes part of an _id)",
                encoding.refusal(Encoding.key(key, nested)));
        Schema none = SchemaBuilder.struct().build();
        assertEquals(
                "record key: got 0 bytes, expected 1 to 512 (it becomes the document's _id)",
                encoding.refusal(Encoding.key(none, new Struct(none))));
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
