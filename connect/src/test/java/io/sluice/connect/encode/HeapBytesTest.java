package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.IntFunction;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;

/** What is counted for records with structs and maps, against what their operations really take of the heap. */
class HeapBytesTest {
    private static final int RECORDS = 3_001;

    /** What {@code Intake} adds for the objects around a record. */
    private static final int OBJECTS_BYTES = 512;

    private static final Schema OFFER = SchemaBuilder.struct()
            .field("shop", Schema.STRING_SCHEMA)
            .field("price", Schema.FLOAT64_SCHEMA)
            .build();
    private static final Schema BOOK = SchemaBuilder.struct()
            .field("isbn", Schema.INT64_SCHEMA)
            .field("title", Schema.STRING_SCHEMA)
            .field("pages", Schema.INT32_SCHEMA)
            .field("sold", Schema.BOOLEAN_SCHEMA)
            .field("at", Timestamp.SCHEMA)
            .field("cost", Decimal.schema(2))
            .field("tags", SchemaBuilder.array(Schema.STRING_SCHEMA).build())
            .field("offers", SchemaBuilder.array(OFFER).build())
            .build();

    private final Random random = new Random(1_009);

    private String text(String from, int characters) {
        StringBuilder text = new StringBuilder(characters);
        for (int i = 0; i < characters; i++) {
            text.append(from.charAt(random.nextInt(from.length())));
        }
        return text.toString();
    }

    private Struct book(String letters) {
        List<Struct> offers = new ArrayList<>();
        List<String> tags = new ArrayList<>();
        for (int i = 0; i < 7; i++) {
            tags.add(text(letters, 5 + i));
            offers.add(new Struct(OFFER).put("shop", text(letters, 11)).put("price", random.nextDouble()));
        }
        return new Struct(BOOK)
                .put("isbn", random.nextLong())
                .put("title", text(letters, 53))
                .put("pages", random.nextInt())
                .put("sold", true)
                .put("at", new java.util.Date(random.nextInt()))
                .put("cost", java.math.BigDecimal.valueOf(random.nextInt(1_000_000), 2))
                .put("tags", tags)
                .put("offers", offers);
    }

    private Map<String, Object> fields() {
        Map<String, Object> map = new HashMap<>();
        for (int i = 0; i < 30; i++) {
            map.put("field" + i, text("abc", 9));
        }
        return map;
    }

    private static JsonConverter converter(boolean withSchemas) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", Boolean.toString(withSchemas)), false);
        return converter;
    }

    private void assertCountedAsHeld(String what, IntFunction<SchemaAndValue> values) throws Exception {
        Encoding encoding = new Encoding();
        held(encoding, values, 101);
        long before = usedBytes();
        List<Operation> operations = held(encoding, values, RECORDS);
        long held = usedBytes() - before;
        long counted = operations.stream().mapToLong(Operation::heldBytes).sum() + (long) RECORDS * OBJECTS_BYTES;
        double ratio = (double) counted / held;
        assertTrue(
                ratio > 0.8 && ratio < 1.5,
                String.format("%s: got %.2f of %,d bytes, expected 0.8 to 1.5", what, ratio, held));
    }

    private static List<Operation> held(Encoding encoding, IntFunction<SchemaAndValue> values, int records)
            throws Exception {
        List<Operation> operations = new ArrayList<>(records);
        for (int i = 0; i < records; i++) {
            byte[] key = ("key-" + i).getBytes(UTF_8);
            SinkRecord record = Encoding.record(new SchemaAndValue(null, key), values.apply(i), new ConnectHeaders());
            operations.add(encoding.operation(record));
        }
        return operations;
    }

    private static long usedBytes() throws InterruptedException {
        Runtime runtime = Runtime.getRuntime();
        long used = Long.MAX_VALUE;
        for (int again = 0; again < 4; again++) {
            System.gc();
            used = Math.min(used, runtime.totalMemory() - runtime.freeMemory());
        }
        return used;
    }

    @Test
    void structsOfJsonConverterAreCountedAsTheyAreHeld() throws Exception {
        for (String letters : new String[] {"abcdefgh", "가나다라마바사"}) {
            JsonConverter converter = converter(true);
            assertCountedAsHeld(
                    "structs of " + letters,
                    i -> converter.toConnectData("books", converter.fromConnectData("books", BOOK, book(letters))));
        }
    }

    @Test
    void mapsOfJsonConverterAreCountedAsTheyAreHeld() throws Exception {
        JsonConverter converter = converter(false);
        assertCountedAsHeld(
                "maps of a struct",
                i -> converter.toConnectData("books", converter.fromConnectData("books", BOOK, book("abc"))));
        assertCountedAsHeld(
                "maps of strings",
                i -> converter.toConnectData("books", converter.fromConnectData("books", null, fields())));
    }

    /** The names of each map are strings of its own, as other converters make them. */
    @Test
    void mapsWithNamesOfTheirOwnAreCountedAsTheyAreHeld() throws Exception {
        assertCountedAsHeld("maps with names of their own", i -> new SchemaAndValue(null, fields()));
    }

    @Test
    void bytesAndStringsAreCountedAsTheyAreHeld() throws Exception {
        assertCountedAsHeld(
                "bytes", i -> new SchemaAndValue(null, ("{\"a\":\"" + text("abc", 1_009) + "\"}").getBytes(UTF_8)));
        assertCountedAsHeld("strings", i -> new SchemaAndValue(null, "{\"a\":\"" + text("abc", 1_009) + "\"}"));
    }
}
