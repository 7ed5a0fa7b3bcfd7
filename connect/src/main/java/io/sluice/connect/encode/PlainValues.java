package io.sluice.connect.encode;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Period;
import java.time.Year;
import java.time.YearMonth;
import java.time.ZonedDateTime;
import java.util.Base64;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.connect.data.Schema;

/**
 * Turns single values of Connect, with a schema or without, into those that JSON has a form for: text, finite numbers,
 * booleans, {@link EmbeddedJson}. Containers stay what they are.
 */
record PlainValues(boolean epochs, boolean decimalsAsText) {
    /** For ids, which no setting changes. */
    static final PlainValues OF_IDS = new PlainValues(false, false);

    /** More than any database keeps behind a decimal point. */
    private static final int MOST_ZEROS = 20_000;

    private static final Set<Class<?>> NUMBERS = Set.of(
            Integer.class,
            Long.class,
            Short.class,
            Byte.class,
            BigInteger.class,
            AtomicInteger.class,
            AtomicLong.class);

    private static final Set<Class<?>> TEXTS = Set.of(
            Character.class,
            UUID.class,
            Instant.class,
            LocalDate.class,
            LocalTime.class,
            LocalDateTime.class,
            OffsetDateTime.class,
            OffsetTime.class,
            Year.class,
            YearMonth.class,
            Duration.class,
            Period.class);

    /** What the schema means by the value; containers and what JSON knows by itself come back as they are. */
    Object of(Schema schema, Object value) throws UnwritableException {
        Object given = value == null && schema != null ? schema.defaultValue() : value;
        if (given == null || schema == null || schema.name() == null) {
            return given;
        }
        LogicalTypes.LogicalType type = LogicalTypes.named(schema.name(), epochs);
        return type == null ? given : type.plain(schema, given);
    }

    /** A number that JSON can write. */
    Object number(Number number) throws UnwritableException {
        if (NUMBERS.contains(number.getClass())) {
            return number;
        }
        if (number instanceof BigDecimal decimal) {
            return decimalsAsText ? text(decimal) : decimal;
        }
        if (!(number instanceof Double || number instanceof Float)) {
            throw UnwritableException.of(number, "one of Connect's types");
        }
        if (!Double.isFinite(number.doubleValue())) {
            throw new UnwritableException(
                    "got " + number + " in a " + number.getClass().getSimpleName() + ", expected a finite number");
        }
        return number;
    }

    /** In full, unless a few bytes of a record would become gigabytes of zeros. */
    private static String text(BigDecimal decimal) {
        return Math.abs((long) decimal.scale()) > MOST_ZEROS ? decimal.toString() : decimal.toPlainString();
    }

    /** What is neither text nor number, boolean or container. */
    Object other(Object value) throws UnwritableException {
        if (value instanceof byte[] || value instanceof ByteBuffer) {
            return Base64.getEncoder().encodeToString(Buffers.bytesOf(value));
        }
        if (value instanceof java.util.Date date) {
            return epochs ? (Object) date.getTime() : IsoTimes.instant(date.getTime(), 1_000);
        }
        if (value instanceof Enum<?> constant) {
            return constant.name();
        }
        if (value instanceof ZonedDateTime time) {
            return time.toOffsetDateTime().toString();
        }
        if (TEXTS.contains(value.getClass())) {
            return value.toString();
        }
        throw UnwritableException.of(value, "one of Connect's types");
    }

    /** The text of a single value, as a name or an id. */
    String text(Schema schema, Object value) throws UnwritableException {
        Object plain = of(schema, value);
        if (plain == null) {
            throw new UnwritableException("got null, expected a name");
        }
        if (plain instanceof Number number) {
            plain = number(number);
        }
        boolean isText = plain instanceof String || plain instanceof Number || plain instanceof Boolean;
        return isText ? plain.toString() : other(plain).toString();
    }
}
