package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.Map;
import java.util.UUID;

/**
 * Debezium's placeholder for a column whose value an event lacks: a database such as Postgres leaves large values that did
 * not change out of its log.
 */
final class UnavailableValue {
    private final String text;
    private final byte[] bytes;
    /** Of a column that is an hstore, where the source writes those as JSON. */
    private final String pair;
    /** The one element of an array of UUIDs. */
    private final String uuid;

    UnavailableValue(String text) {
        this.text = text;
        this.bytes = text.getBytes(UTF_8);
        this.pair = "{" + RecordFields.quoted(text) + ":" + RecordFields.quoted(text) + "}";
        this.uuid = UUID.nameUUIDFromBytes(bytes).toString();
    }

    /** Whether a column's value is the placeholder, in the form that Debezium gives it for the column's type. */
    boolean is(Object value) {
        if (value instanceof String string) {
            return string.equals(text) || string.equals(pair);
        }
        if (value instanceof Collection<?> elements) {
            return isOneText(elements) || areBytes(elements);
        }
        if (value instanceof Map<?, ?> map) {
            return map.size() == 1 && text.equals(map.get(text));
        }
        return value instanceof ByteBuffer buffer
                ? buffer.equals(ByteBuffer.wrap(bytes))
                : value instanceof byte[] array && Arrays.equals(array, bytes);
    }

    private boolean isOneText(Collection<?> elements) {
        if (elements.size() != 1) {
            return false;
        }
        Object element = elements.iterator().next();
        return text.equals(element) || uuid.equals(element);
    }

    /** Arrays of numbers hold its bytes. */
    private boolean areBytes(Collection<?> elements) {
        if (elements.size() != bytes.length) {
            return false;
        }
        Iterator<?> each = elements.iterator();
        for (byte b : bytes) {
            boolean isByte = each.next() instanceof Number number && number.longValue() == b;
            if (!isByte) {
                return false;
            }
        }
        return true;
    }
}
