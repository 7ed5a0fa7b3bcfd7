package io.sluice.connect.encode;

import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Struct;

/** The fields of a record's value. */
final class TopLevel {
    private TopLevel() {}

    /** The value of a field, or {@code null} if it has none, does not exist, or there are no fields at all. */
    static Object field(Object value, String name) {
        if (value instanceof Struct struct) {
            Field field = struct.schema().field(name);
            return field == null ? null : struct.get(field);
        }
        return value instanceof Map<?, ?> map ? entry(map, name) : null;
    }

    private static Object entry(Map<?, ?> map, String name) {
        try {
            return map.get(name);
        } catch (ClassCastException keysOfAnotherType) {
            // A sorted map compares the name with its keys, which need not be strings.
            return null;
        }
    }
}
