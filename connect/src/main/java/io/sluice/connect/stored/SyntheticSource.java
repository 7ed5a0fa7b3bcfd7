package io.sluice.connect.stored;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.time.temporal.TemporalAccessor;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Documents that Elasticsearch puts together from their fields: dots and objects, the order and number of equal values of an
 * array, nulls, and how a time or a number is written are lost.
 */
final class SyntheticSource {
    private static final Pattern NUMBER = Pattern.compile("-?\\d{1,30}(\\.\\d{1,30})?([eE][+-]?\\d{1,3})?");
    private static final Pattern DATE = Pattern.compile("\\d{4}-\\d\\d-\\d\\d(T\\d.{1,40})?");

    private SyntheticSource() {}

    /** Whether both may be the same document. */
    static boolean areAlike(Object sent, Object stored) {
        return leaves(sent).equals(leaves(stored));
    }

    private static Set<String> leaves(Object document) {
        Set<String> leaves = new HashSet<>();
        collect(document, "", leaves);
        return leaves;
    }

    private static void collect(Object value, String path, Set<String> leaves) {
        if (value instanceof Map<?, ?> members) {
            members.forEach((name, member) -> collect(member, path.isEmpty() ? "" + name : path + "." + name, leaves));
        } else if (value instanceof List<?> elements) {
            elements.forEach(element -> collect(element, path, leaves));
        } else if (value != null) {
            leaves.add(path + "=" + canonical(value));
        }
    }

    private static String canonical(Object leaf) {
        if (leaf instanceof BigDecimal number) {
            return number(number);
        }
        String text = leaf.toString();
        if (NUMBER.matcher(text).matches()) {
            return number(new BigDecimal(text));
        }
        return DATE.matcher(text).matches() ? instant(text) : text;
    }

    /** A fraction as a double, since no field keeps more. */
    private static String number(BigDecimal number) {
        BigDecimal stripped = number.stripTrailingZeros();
        boolean isWhole = stripped.scale() <= 0 && stripped.precision() - stripped.scale() < 40;
        return isWhole ? stripped.toPlainString() : Double.toString(number.doubleValue());
    }

    private static String instant(String text) {
        try {
            TemporalAccessor time = DateTimeFormatter.ofPattern("yyyy-MM-dd['T'HH:mm[:ss]['.'SSS]][XXX]")
                    .parseBest(text, OffsetDateTime::from, LocalDateTime::from, LocalDate::from);
            return Long.toString(millis(time));
        } catch (DateTimeParseException other) {
            return instantOfAnyLength(text);
        }
    }

    private static String instantOfAnyLength(String text) {
        try {
            return Long.toString(OffsetDateTime.parse(text).toInstant().toEpochMilli());
        } catch (DateTimeParseException noTime) {
            return text;
        }
    }

    private static long millis(TemporalAccessor time) {
        if (time instanceof OffsetDateTime moment) {
            return moment.toInstant().toEpochMilli();
        }
        Instant instant = time instanceof LocalDateTime local
                ? local.toInstant(ZoneOffset.UTC)
                : ((LocalDate) time).atStartOfDay().toInstant(ZoneOffset.UTC);
        return instant.toEpochMilli();
    }
}
