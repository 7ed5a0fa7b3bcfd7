package io.sluice.connect.encode;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.apache.kafka.connect.data.Date;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.json.JsonConverter;
import org.junit.jupiter.api.Test;

/** Random values of all types in each other, against models that know nothing of the sink. */
class RandomValuesTest {
    private static final int VALUES = 5_003;
    private static final int MOST_LEVELS = 5;
    private static final String LETTERS = "ab\"\\/\n\r\t\0é한\ud83d\ude00 .";

    private static final DateTimeFormatter MILLIS =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

    private final ObjectMapper json = JsonMapper.builder()
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS, DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();
    private Random random;

    /** A value, its schema if it has one, and what is to be read from its JSON. */
    private record Case(Schema schema, Object value, Object expected) {}

    private String text() {
        StringBuilder text = new StringBuilder();
        int[] letters = LETTERS.codePoints().toArray();
        for (int i = random.nextInt(random.nextInt(40) == 0 ? 3_001 : 13); i > 0; i--) {
            text.appendCodePoint(letters[random.nextInt(letters.length)]);
        }
        return text.toString();
    }

    private byte[] bytes() {
        byte[] bytes = new byte[random.nextInt(23)];
        random.nextBytes(bytes);
        return bytes;
    }

    private long whole() {
        return random.nextLong() >> random.nextInt(64);
    }

    private double finite() {
        double real = Double.longBitsToDouble(random.nextLong());
        return Double.isFinite(real) ? real : -0.0;
    }

    private Case plain(boolean hasSchema) {
        long whole = whole();
        switch (random.nextInt(8)) {
            case 0:
                return new Case(Schema.OPTIONAL_INT8_SCHEMA, (byte) whole, BigInteger.valueOf((byte) whole));
            case 1:
                return new Case(Schema.OPTIONAL_INT16_SCHEMA, (short) whole, BigInteger.valueOf((short) whole));
            case 2:
                return new Case(Schema.OPTIONAL_INT32_SCHEMA, (int) whole, BigInteger.valueOf((int) whole));
            case 3:
                return new Case(Schema.OPTIONAL_INT64_SCHEMA, whole, BigInteger.valueOf(whole));
            case 4:
                double real = finite();
                return new Case(Schema.OPTIONAL_FLOAT64_SCHEMA, real, new BigDecimal(Double.toString(real)));
            case 5:
                return new Case(Schema.OPTIONAL_BOOLEAN_SCHEMA, whole > 0, whole > 0);
            case 6:
                byte[] bytes = bytes();
                Object given = hasSchema || random.nextBoolean() ? ByteBuffer.wrap(bytes) : bytes;
                return new Case(
                        Schema.OPTIONAL_BYTES_SCHEMA, given, Base64.getEncoder().encodeToString(bytes));
            default:
                String text = text();
                return new Case(Schema.OPTIONAL_STRING_SCHEMA, text, text);
        }
    }

    private Case logical() {
        long millis = whole() % 100_000_000_000_000L;
        int days = random.nextInt(100_003) - 50_000;
        BigDecimal decimal = new BigDecimal(new BigInteger(random.nextInt(90) + 1, random), 3);
        switch (random.nextInt(4)) {
            case 0:
                return new Case(Timestamp.SCHEMA, new java.util.Date(millis), Instant.ofEpochMilli(millis));
            case 1:
                return new Case(
                        Date.SCHEMA,
                        new java.util.Date(days * 86_400_000L),
                        LocalDate.EPOCH.plusDays(days).toString());
            case 2:
                return new Case(Decimal.schema(3), decimal, decimal);
            default:
                return new Case(
                        io.debezium.time.Date.schema(),
                        days,
                        LocalDate.EPOCH.plusDays(days).toString());
        }
    }

    private Case schemaless() {
        UUID id = new UUID(random.nextLong(), random.nextLong());
        BigInteger big = new BigInteger(200, random);
        long millis = random.nextInt();
        switch (random.nextInt(4)) {
            case 0:
                return new Case(null, id, id.toString());
            case 1:
                return new Case(null, big, big);
            case 2:
                return new Case(null, new java.util.Date(millis), Instant.ofEpochMilli(millis));
            default:
                return new Case(null, null, null);
        }
    }

    private Case value(int level, boolean hasSchema, boolean isPlain) {
        int kind = random.nextInt(level >= MOST_LEVELS ? 5 : 9);
        if (kind < 3 || kind < 5 && isPlain) {
            return plain(hasSchema);
        }
        if (kind < 5) {
            return hasSchema ? logical() : schemaless();
        }
        if (kind == 5) {
            return list(level, hasSchema, isPlain);
        }
        return kind == 6 && hasSchema ? mapOf(level, isPlain) : object(level, hasSchema, isPlain);
    }

    /** With a schema all elements have one type: the first one's, alone. */
    private Case list(int level, boolean hasSchema, boolean isPlain) {
        List<Object> values = new ArrayList<>();
        List<Object> expected = new ArrayList<>();
        Schema schema = null;
        for (int i = hasSchema ? 1 : random.nextInt(5); i > 0; i--) {
            Case element = value(level + 1, hasSchema, isPlain);
            schema = element.schema();
            values.add(element.value());
            expected.add(element.expected());
        }
        return new Case(hasSchema ? SchemaBuilder.array(schema).optional().build() : null, values, expected);
    }

    private Case mapOf(int level, boolean isPlain) {
        Case only = value(level + 1, true, isPlain);
        String name = text();
        return new Case(
                SchemaBuilder.map(Schema.STRING_SCHEMA, only.schema())
                        .optional()
                        .build(),
                Map.of(name, only.value()),
                Map.of(name, only.expected()));
    }

    /** A struct, or a map whose keys are of any type. */
    private Case object(int level, boolean hasSchema, boolean isPlain) {
        Map<String, Case> fields = new LinkedHashMap<>();
        for (int i = random.nextInt(6); i > 0; i--) {
            fields.put("f" + i + text(), value(level + 1, hasSchema, isPlain));
        }
        Map<String, Object> expected = new LinkedHashMap<>();
        fields.forEach((name, field) -> expected.put(name, field.expected()));
        if (hasSchema) {
            SchemaBuilder schema = SchemaBuilder.struct().optional();
            fields.forEach((name, field) -> schema.field(name, field.schema()));
            Struct struct = new Struct(schema.build());
            fields.forEach((name, field) -> struct.put(name, field.value()));
            return new Case(struct.schema(), struct, expected);
        }
        Map<Object, Object> map = new HashMap<>();
        fields.forEach((name, field) -> map.put(name, field.value()));
        long number = whole();
        map.put(number, number);
        expected.put(Long.toString(number), BigInteger.valueOf(number));
        return new Case(null, map, expected);
    }

    /** What both sides can be compared by, whatever the notation of a number. */
    private static Object comparable(Object value) {
        if (value instanceof Map<?, ?> map) {
            Map<Object, Object> same = new HashMap<>();
            map.forEach((name, element) -> same.put(name, comparable(element)));
            return same;
        }
        if (value instanceof List<?> list) {
            return list.stream().map(RandomValuesTest::comparable).toList();
        }
        if (value instanceof Number number) {
            BigDecimal decimal = new BigDecimal(number.toString());
            return decimal.signum() == 0 ? BigDecimal.ZERO : decimal.stripTrailingZeros();
        }
        return value instanceof Instant instant ? MILLIS.format(instant) : value == null ? "none" : value;
    }

    @Test
    void whatIsReadFromTheJsonIsWhatWasWritten() throws Exception {
        Encoding encoding = new Encoding();
        for (int seed = 0; seed < VALUES; seed++) {
            random = new Random(seed);
            Case object = object(0, random.nextBoolean(), false);
            byte[] written = encoding.operation(Encoding.value(object.schema(), object.value()))
                    .line(1);
            assertEquals(-1, new JsonObjectCheck().firstOffence(written), "seed " + seed);
            Object read = json.readValue(written, Object.class);
            assertEquals(comparable(object.expected()), comparable(read), "seed " + seed);
        }
    }

    /** Where JsonConverter's JSON was right, ours is the same to the byte. */
    @Test
    void ordinaryStructsAreWrittenAsJsonConverterDoes() throws Exception {
        Encoding encoding = new Encoding();
        try (JsonConverter converter = new JsonConverter()) {
            converter.configure(Map.of("schemas.enable", "false", "decimal.format", "NUMERIC"), false);
            for (int seed = 0; seed < VALUES; seed++) {
                random = new Random(seed);
                Case object = object(0, true, true);
                assertArrayEquals(
                        converter.fromConnectData("books", object.schema(), object.value()),
                        encoding.operation(Encoding.value(object.schema(), object.value()))
                                .line(1),
                        "seed " + seed);
            }
        }
    }
}
