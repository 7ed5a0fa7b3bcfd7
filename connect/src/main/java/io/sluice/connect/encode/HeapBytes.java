package io.sluice.connect.encode;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Struct;

/**
 * Bytes of the heap that a value of Connect takes, as a JVM with compressed pointers lays it out; schemas are shared and
 * not counted. An estimate: which of two values share a string cannot be seen.
 */
final class HeapBytes {
    private static final int POINTER = 4;
    private static final int ARRAY = 16;
    private static final int SMALL_OBJECT = 24;
    private static final int STRING = 24 + ARRAY;
    private static final int BUFFER = 64;
    private static final int BIG_NUMBER = 48;
    private static final int MAP = 64;

    /** A node of the map, and its place in a table that is three quarters full at most. */
    private static final int MAP_ENTRY = 40 + 2 * POINTER;

    /** Characters by which it is guessed how many bytes the others have. */
    private static final int SAMPLE = 16;

    private HeapBytes() {}

    /** @param value written as JSON before, so that it is finite */
    static long of(Object value) {
        if (value instanceof String text) {
            return STRING + (long) text.length() * bytesPerCharacter(text);
        }
        if (value instanceof Struct struct) {
            return ofStruct(struct);
        }
        if (value instanceof Map<?, ?> map) {
            return ofMap(map);
        }
        if (value instanceof Collection<?> elements) {
            return ofCollection(elements);
        }
        return ofOther(value);
    }

    private static long ofOther(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Byte || value instanceof Enum<?>) {
            return 0;
        }
        if (value instanceof Integer || value instanceof Short || value instanceof Float) {
            return ARRAY;
        }
        if (value instanceof byte[] bytes) {
            return ARRAY + (long) bytes.length;
        }
        if (value instanceof ByteBuffer buffer) {
            return BUFFER + (long) buffer.capacity();
        }
        return value instanceof BigDecimal || value instanceof BigInteger ? BIG_NUMBER : SMALL_OBJECT;
    }

    private static int bytesPerCharacter(String text) {
        for (int i = 0; i < text.length() && i < SAMPLE; i++) {
            if (text.charAt(i) > 0xff) {
                return 2;
            }
        }
        return 1;
    }

    private static long ofStruct(Struct struct) {
        long bytes = SMALL_OBJECT + ARRAY;
        for (Field field : struct.schema().fields()) {
            bytes += POINTER + of(struct.getWithoutDefault(field.name()));
        }
        return bytes;
    }

    /** Names count half: parsers share those of one record with the next, others do not. */
    private static long ofMap(Map<?, ?> map) {
        long bytes = MAP + ARRAY;
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            bytes += MAP_ENTRY + of(entry.getKey()) / 2 + of(entry.getValue());
        }
        return bytes;
    }

    private static long ofCollection(Collection<?> elements) {
        long bytes = SMALL_OBJECT + ARRAY;
        for (Object element : elements) {
            bytes += POINTER + POINTER / 2 + of(element);
        }
        return bytes;
    }
}
