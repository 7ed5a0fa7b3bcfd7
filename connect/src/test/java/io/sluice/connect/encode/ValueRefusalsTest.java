package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.debezium.data.Json;
import io.debezium.data.geometry.Geometry;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Timestamp;
import org.junit.jupiter.api.Test;

/** A value without a right JSON makes its record malformed, in words that name its field and type and never quote it. */
class ValueRefusalsTest {
    private static final String NO_TYPE = ", expected one of Connect's types";

    private final Encoding encoding = new Encoding();

    private String refusal(Object value) {
        return encoding.refusal(Encoding.field(null, value));
    }

    private String refusal(Schema schema, Object value) {
        return encoding.refusal(Encoding.field(schema, value));
    }

    @Test
    void numbersThatAreNotFiniteAreRefused() {
        assertEquals("record value at /f: got NaN in a Double, expected a finite number", refusal(Double.NaN));
        assertEquals(
                "record value at /f: got -Infinity in a Float, expected a finite number",
                refusal(Schema.FLOAT32_SCHEMA, Float.NEGATIVE_INFINITY));
        assertEquals(
                "record value at /f/1: got Infinity in a Double, expected a finite number",
                refusal(SchemaBuilder.array(Schema.FLOAT64_SCHEMA).build(), List.of(1.0, Double.POSITIVE_INFINITY)));
    }

    @Test
    void thePathLeadsThroughStructsMapsAndLists() {
        Schema inner = SchemaBuilder.struct()
                .field("a/b~c", SchemaBuilder.map(Schema.STRING_SCHEMA, Schema.FLOAT64_SCHEMA))
                .build();
        Struct struct = new Struct(inner).put("a/b~c", Map.of("x", Double.NaN));
        assertEquals(
                "record value at /f/0/1/a~1b~0c/x: got NaN in a Double, expected a finite number",
                refusal(List.of(List.of(1, struct))));
    }

    @Test
    void aPathIsShortAndOnOneLine() {
        String path = refusal(Map.of("a\nb" + "c".repeat(1_009), Double.NaN)).split(": got")[0];
        assertEquals("record value at /f/a?b" + "c".repeat(194) + "…", path);
    }

    @Test
    void javaTypesThatConnectHasNotAreRefused() {
        assertEquals("record value at /f: got a java.net.URI" + NO_TYPE, refusal(URI.create("x:secret")));
        assertEquals("record value at /f/0: got an Optional" + NO_TYPE, refusal(List.of(Optional.of("secret"))));
        assertEquals("record value at /f: got an Object" + NO_TYPE, refusal(new Object()));
        assertEquals("record value at /f: got an " + Odd.class.getName() + NO_TYPE, refusal(new Odd()));
    }

    /** A number that Connect does not know. */
    private static final class Odd extends Number {
        private static final long serialVersionUID = 1;

        @Override
        public int intValue() {
            return 1;
        }

        @Override
        public long longValue() {
            return 1;
        }

        @Override
        public float floatValue() {
            return 1;
        }

        @Override
        public double doubleValue() {
            return 1;
        }
    }

    @Test
    void namesThatAreNoneAreRefused() {
        assertEquals(
                "record value at /f: got a map with a null key, expected names",
                refusal(Collections.singletonMap(null, 1)));
        assertEquals(
                "record value at /f: got a map with LIST for a key, expected names"
                        .replace("LIST", UnwritableException.typeOf(List.of(1))),
                refusal(Map.of(List.of(1), 1)));
        Map<Object, Object> twice = new HashMap<>(Map.of(1, "a"));
        twice.put("1", "b");
        assertEquals(
                "record value at /f: got a map with two keys of one name, expected distinct names", refusal(twice));
    }

    @Test
    void whatHoldsItselfIsRefused() {
        List<Object> list = new ArrayList<>();
        list.addAll(Arrays.asList(list, list));
        assertEquals("record value at /f/0: got an ArrayList, expected one that does not hold itself", refusal(list));
        Map<String, Object> map = new HashMap<>();
        map.put("m", List.of(map));
        assertEquals("record value at /f/m/0: got a HashMap, expected one that does not hold itself", refusal(map));
    }

    private static Object nested(int levels) {
        Object value = 1;
        for (int level = 0; level < levels; level++) {
            value = Collections.singletonList(value);
        }
        return value;
    }

    /** On a thread with the stack of a worker's tasks. */
    @Test
    void thousandLevelsAreWrittenAndNoMore() throws Exception {
        int within = ValueWriter.MOST_LEVELS - 1;
        assertEquals("[".repeat(within) + 1 + "]".repeat(within), encoding.jsonOf(null, nested(within)));
        String refusal = refusal(nested(within + 1));
        assertTrue(
                refusal.endsWith("…: got a java.util.Collections$SingletonList, expected no value within 1000 others"),
                refusal);
        assertTrue(refusal(nested(100_003)).endsWith("expected no value within 1000 others"));
    }

    /** Each list holds the one before it twice: 2 to the power of 60 numbers. */
    @Test
    void aValueThatGrowsWithoutEndIsRefused() {
        List<Object> value = List.of(1);
        for (int level = 0; level < 60; level++) {
            value = List.of(value, value);
        }
        ValueWriter writer = new ValueWriter(PlainValues.OF_IDS, 1_000_003);
        Object growing = value;
        String refusal = assertThrows(MalformedRecordException.class, () -> writer.json(null, growing, "value"))
                .getMessage();
        assertTrue(
                refusal.matches("value at (/\\d){60,}: got more than 1000003 bytes of JSON, expected no more"),
                refusal);
    }

    /** A map of a transform that fails when it is read. */
    @Test
    void whatFailsWhenItIsReadIsRefused() {
        Map<String, Object> map = new AbstractMap<>() {
            @Override
            public Set<Entry<String, Object>> entrySet() {
                throw new IllegalStateException("secret");
            }
        };
        assertEquals(
                "record value at /f: got " + UnwritableException.typeOf(map)
                        + " that cannot be written (IllegalStateException), expected one of Connect's values",
                refusal(map));
    }

    /** A transform may hand over a value that its schema does not fit. */
    @Test
    void valuesThatTheirSchemaDoesNotFitAreRefused() {
        Schema list = SchemaBuilder.array(Timestamp.SCHEMA).build();
        assertEquals(
                "record value at /t/0: got a String, expected a whole number or a date",
                encoding.refusal(Encoding.value(
                        SchemaBuilder.map(Schema.STRING_SCHEMA, list).build(), Map.of("t", List.of("secret")))));
    }

    @Test
    void textThatIsNoJsonIsRefused() {
        for (String text : new String[] {"", "{", "{} {}", "[1", "NaN", "__debezium_unavailable_value"}) {
            assertEquals(
                    "record value at /f: got text that is no JSON, expected one JSON value",
                    refusal(Json.schema(), text));
        }
    }

    @Test
    void geometriesThatGeoJsonHasNotAreRefused() {
        assertEquals(
                "record value at /f: got a WKB geometry of type 8, expected one that GeoJSON has (1 to 7)",
                geometry("0108000000"));
        assertEquals(
                "record value at /f: got 9 bytes that are no WKB, expected a geometry in WKB",
                geometry("0102000000ffffff7f"));
        assertEquals("record value at /f: got 0 bytes that are no WKB, expected a geometry in WKB", geometry(""));
        String collections = "010700000001000000".repeat(1_009);
        assertEquals(
                "record value at /f: got WKB collections in each other, expected 16 at most", geometry(collections));
    }

    private String geometry(String wkb) {
        return refusal(
                Geometry.schema(),
                Geometry.createValue(Geometry.schema(), HexFormat.of().parseHex(wkb), null));
    }

    @Test
    void valuesThatAreNoObjectAreRefused() {
        for (Object value : new Object[] {7, 7.0, true, List.of(Map.of("a", 1)), new java.util.Date()}) {
            assertEquals(
                    "record value: got " + UnwritableException.typeOf(value)
                            + ", expected a struct, a map, or JSON in a string or bytes",
                    encoding.refusal(Encoding.value(null, value)));
        }
    }

    /** Java's strings may hold halves of characters; JSON has an escape for them. */
    @Test
    void textThatIsNoUnicodeIsEscaped() throws Exception {
        assertEquals("\"a\\uD800b\"", encoding.jsonOf(null, "a\ud800b"));
        assertEquals("\"a\\uD800\"", encoding.jsonOf(null, "a\ud800"));
        assertEquals("\"\\uDE00\\uD83D\\uDE00\"", encoding.jsonOf(null, "\ude00\ud83d\ude00"));
    }

    /** What was half written before a refusal is in no other document. */
    @Test
    void theNextDocumentIsWhole() throws Exception {
        Map<String, Object> refused = new HashMap<>(Map.of("a", "x".repeat(20_011), "b", Double.NaN));
        encoding.refusal(Encoding.value(null, refused));
        assertEquals("{\"f\":[1]}", encoding.document(Encoding.field(null, List.of(1))));
    }

    /** The bytes of a buffer are those between its position and its limit, and stay where they are. */
    @Test
    void buffersOfAnyKindAreReadAlike() throws Exception {
        byte[] bytes = "xx{\"a\":1}x".getBytes(UTF_8);
        ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
        for (ByteBuffer whole : new ByteBuffer[] {ByteBuffer.wrap(bytes), direct, direct.asReadOnlyBuffer()}) {
            ByteBuffer slice = whole.slice(2, 7);
            for (int again = 0; again < 2; again++) {
                assertEquals("{\"a\":1}", encoding.document(Encoding.value(null, slice)));
                assertTrue(encoding.action(Encoding.key(null, slice)).contains("\"_id\":\"{\\\"a\\\":1}\""));
                assertEquals("\"eyJhIjoxfQ==\"", encoding.jsonOf(Schema.BYTES_SCHEMA, slice));
            }
        }
    }
}
