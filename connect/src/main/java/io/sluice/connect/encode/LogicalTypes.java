package io.sluice.connect.encode;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;

/** What Connect and Debezium mean by schemas of certain names: the value that a user of Elasticsearch expects. */
final class LogicalTypes {
    /** Makes of a value that is not {@code null} another one, which the schema says nothing about any more. */
    interface LogicalType {
        Object plain(Schema schema, Object value) throws UnwritableException;
    }

    private static final String CONNECT = "org.apache.kafka.connect.data.";
    private static final String TIME = "io.debezium.time.";
    private static final String DATA = "io.debezium.data.";
    private static final long MILLIS_PER_DAY = 86_400_000;
    private static final long MILLIS = 1_000;
    private static final long MICROS = 1_000_000;
    private static final long NANOS = 1_000_000_000;
    /** Beyond it {@code length} is no width of a column: Postgres's {@code bit varying} has none. */
    private static final int MOST_BITS = 65_536;

    private static final Map<String, LogicalType> TEMPORAL = new HashMap<>();
    private static final Map<String, LogicalType> OTHERS = new HashMap<>();

    static {
        TEMPORAL.put(CONNECT + "Date", (schema, value) -> IsoTimes.date(days(value)));
        TEMPORAL.put(CONNECT + "Time", (schema, value) -> IsoTimes.time(number(value), MILLIS));
        TEMPORAL.put(CONNECT + "Timestamp", (schema, value) -> IsoTimes.instant(number(value), MILLIS));
        TEMPORAL.put(TIME + "Date", (schema, value) -> IsoTimes.date(days(value)));
        TEMPORAL.put(TIME + "Time", (schema, value) -> IsoTimes.time(number(value), MILLIS));
        TEMPORAL.put(TIME + "MicroTime", (schema, value) -> IsoTimes.time(number(value), MICROS));
        TEMPORAL.put(TIME + "NanoTime", (schema, value) -> IsoTimes.time(number(value), NANOS));
        TEMPORAL.put(TIME + "Timestamp", (schema, value) -> IsoTimes.instant(number(value), MILLIS));
        TEMPORAL.put(TIME + "MicroTimestamp", (schema, value) -> IsoTimes.instant(number(value), MICROS));
        TEMPORAL.put(TIME + "NanoTimestamp", (schema, value) -> IsoTimes.instant(number(value), NANOS));
        TEMPORAL.put(TIME + "IsoDate", (schema, value) -> withoutZone(value));

        OTHERS.put(CONNECT + "Decimal", LogicalTypes::decimal);
        OTHERS.put(DATA + "VariableScaleDecimal", (schema, value) -> variableScaleDecimal(struct(value)));
        OTHERS.put(DATA + "Json", (schema, value) -> EmbeddedJson.of(text(value)));
        OTHERS.put(DATA + "EnumSet", (schema, value) -> members(text(value)));
        OTHERS.put(DATA + "Bits", LogicalTypes::bits);
        OTHERS.put(DATA + "SparseDoubleVector", (schema, value) -> struct(value).get("vector"));
        OTHERS.put(DATA + "geometry.Point", (schema, value) -> point(struct(value)));
        OTHERS.put(DATA + "geometry.Geometry", (schema, value) -> geometry(struct(value)));
        OTHERS.put(DATA + "geometry.Geography", (schema, value) -> geometry(struct(value)));
    }

    private LogicalTypes() {}

    /** {@code null} where the name means nothing; with {@code epochs} dates and times are the numbers that they came as. */
    static LogicalType named(String name, boolean epochs) {
        LogicalType temporal = TEMPORAL.get(name);
        if (temporal != null) {
            return epochs ? epoch(name) : temporal;
        }
        return OTHERS.get(name);
    }

    private static LogicalType epoch(String name) {
        boolean isDate = name.equals(CONNECT + "Date");
        return (schema, value) -> value instanceof java.util.Date ? isDate ? days(value) : number(value) : value;
    }

    private static long days(Object value) throws UnwritableException {
        return value instanceof java.util.Date date ? Math.floorDiv(date.getTime(), MILLIS_PER_DAY) : number(value);
    }

    private static long number(Object value) throws UnwritableException {
        if (value instanceof java.util.Date date) {
            return date.getTime();
        }
        if (value instanceof Long || value instanceof Integer) {
            return ((Number) value).longValue();
        }
        throw UnwritableException.of(value, "a whole number or a date");
    }

    private static String text(Object value) throws UnwritableException {
        if (value instanceof String text) {
            return text;
        }
        throw UnwritableException.of(value, "a string");
    }

    private static Struct struct(Object value) throws UnwritableException {
        if (value instanceof Struct struct) {
            return struct;
        }
        throw UnwritableException.of(value, "a struct");
    }

    private static byte[] bytes(Object value) throws UnwritableException {
        byte[] bytes = Buffers.bytesOf(value);
        if (bytes == null) {
            throw value == null
                    ? new UnwritableException("got null, expected bytes")
                    : UnwritableException.of(value, "bytes");
        }
        return bytes;
    }

    /** A date with an offset is none for Elasticsearch's {@code date}. */
    private static String withoutZone(Object value) throws UnwritableException {
        String text = text(value);
        return text.endsWith("Z") ? text.substring(0, text.length() - 1) : text;
    }

    private static Object decimal(Schema schema, Object value) throws UnwritableException {
        if (value instanceof BigDecimal) {
            return value;
        }
        return new BigDecimal(
                new BigInteger(bytes(value)),
                Integer.parseInt(schema.parameters().get("scale")));
    }

    private static BigDecimal variableScaleDecimal(Struct value) throws UnwritableException {
        return new BigDecimal(new BigInteger(bytes(value.get("value"))), value.getInt32("scale"));
    }

    private static List<String> members(String text) {
        return text.isEmpty() ? List.of() : Arrays.asList(text.split(",", -1));
    }

    /** As SQL writes them, the most significant one first; Debezium's first byte is the least significant one. */
    private static String bits(Schema schema, Object value) throws UnwritableException {
        byte[] bytes = bytes(value);
        String width = schema.parameters() == null ? null : schema.parameters().get("length");
        int length = width == null ? 0 : Integer.parseInt(width);
        if (length < 1 || length > MOST_BITS) {
            length = Byte.SIZE * bytes.length;
        }
        StringBuilder digits = new StringBuilder(length);
        for (int bit = length - 1; bit >= 0; bit--) {
            int at = bit / Byte.SIZE;
            digits.append(at < bytes.length && (bytes[at] >> bit % Byte.SIZE & 1) != 0 ? '1' : '0');
        }
        return digits.toString();
    }

    private static Object point(Struct value) {
        return Wkb.point(value.getFloat64("x"), value.getFloat64("y"));
    }

    private static Object geometry(Struct value) throws UnwritableException {
        return Wkb.toGeoJson(bytes(value.get("wkb")));
    }
}
