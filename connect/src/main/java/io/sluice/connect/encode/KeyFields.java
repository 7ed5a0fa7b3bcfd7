package io.sluice.connect.encode;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;

/**
 * One text of the fields of a key, such as a primary key of several columns. A single field is taken as it is; several are
 * joined by {@code :}, with a {@code \} before each {@code :} and {@code \} of their own: otherwise a:b and c would make the
 * same text as a and b:c.
 */
final class KeyFields {
    private record Part(String name, Schema schema, Object value) {}

    private final List<String> names;

    /** @param names the fields to take, in this order; none: all fields of a struct, as its schema orders them */
    KeyFields(List<String> names) {
        this.names = names;
    }

    /** Whether a key has fields; a decimal that Debezium puts into a struct is a single value. */
    static boolean areIn(Object key) {
        return key instanceof Map
                || key instanceof Struct struct
                        && LogicalTypes.named(struct.schema().name(), false) == null;
    }

    /** The text for a key that has fields. */
    String text(Object key) throws MalformedRecordException {
        List<Part> parts = key instanceof Struct struct ? parts(struct) : parts((Map<?, ?>) key);
        if (parts.size() == 1) {
            return text(parts.get(0));
        }
        StringJoiner joined = new StringJoiner(":");
        for (Part part : parts) {
            joined.add(text(part).replace("\\", "\\\\").replace(":", "\\:"));
        }
        return joined.toString();
    }

    private List<Part> parts(Struct key) throws MalformedRecordException {
        List<Part> parts = new ArrayList<>();
        for (Field field : names.isEmpty() ? key.schema().fields() : fields(key.schema())) {
            parts.add(new Part(field.name(), field.schema(), key.get(field)));
        }
        return parts;
    }

    private List<Field> fields(Schema schema) throws MalformedRecordException {
        List<Field> fields = new ArrayList<>();
        for (String name : names) {
            requireField(name, schema.field(name) != null);
            fields.add(schema.field(name));
        }
        return fields;
    }

    /** The order of a map's entries means nothing, and maps of one topic may have different ones. */
    private List<Part> parts(Map<?, ?> key) throws MalformedRecordException {
        if (names.isEmpty()) {
            throw new MalformedRecordException("record key: got " + UnwritableException.typeOf(key)
                    + ", expected bytes, a string, a number or a struct; name its fields in key.fields, or set"
                    + " key.ignore=true");
        }
        List<Part> parts = new ArrayList<>();
        for (String name : names) {
            requireField(name, key.containsKey(name));
            parts.add(new Part(name, null, key.get(name)));
        }
        return parts;
    }

    private static void requireField(String name, boolean isThere) throws MalformedRecordException {
        if (!isThere) {
            throw new MalformedRecordException("record key: got no field " + name + ", expected one (key.fields)");
        }
    }

    private static String text(Part part) throws MalformedRecordException {
        String where = "record key at /" + part.name() + ": ";
        if (part.value() == null) {
            throw new MalformedRecordException(where + "got null, expected a value (it becomes part of an _id)");
        }
        try {
            return PlainValues.OF_IDS.text(part.schema(), part.value());
        } catch (UnwritableException | RuntimeException none) {
            throw new MalformedRecordException(where + "got " + UnwritableException.typeOf(part.value())
                    + ", expected bytes, a string or a number (it becomes part of an _id)");
        }
    }
}
