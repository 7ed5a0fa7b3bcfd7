package io.sluice.connect.encode;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonStreamContext;
import com.fasterxml.jackson.core.StreamWriteConstraints;
import io.sluice.connect.config.DocumentSettings;
import java.io.IOException;
import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;

/**
 * Writes the JSON of Connect's values, straight from the data, or says which field has none. Not safe for several
 * threads.
 */
final class ValueWriter {
    /** Elasticsearch parses no deeper JSON. */
    static final int MOST_LEVELS = 1_000;

    /** Elasticsearch takes no more by default; a value of lists that hold the same lists grows without end. */
    private static final long MOST_BYTES =
            Math.min(100 << 20, Runtime.getRuntime().maxMemory() / 8);

    private static final int LONGEST_PATH = 200;
    private static final JsonFactory JSON = new JsonFactoryBuilder()
            .rootValueSeparator((String) null)
            .streamWriteConstraints(StreamWriteConstraints.builder()
                    .maxNestingDepth(MOST_LEVELS + 1)
                    .build())
            .build();

    private final PlainValues plain;
    private final JsonOutput output;
    /** What is left out of the outermost object, {@code null}: nothing is. */
    private final UnavailableValue leftOut;

    /** The containers around the current value. */
    private Object[] open = new Object[16];

    private int depth;
    private Object current;
    private boolean isAtName;
    private JsonGenerator json;

    ValueWriter(DocumentSettings settings) {
        this(plainValues(settings), MOST_BYTES, null);
    }

    ValueWriter(PlainValues plain, long mostBytes) {
        this(plain, mostBytes, null);
    }

    private ValueWriter(PlainValues plain, long mostBytes, UnavailableValue leftOut) {
        this.plain = plain;
        this.output = new JsonOutput(mostBytes);
        this.leftOut = leftOut;
    }

    /** Leaves out the columns whose values an event lacks: an upsert then keeps those that are stored. */
    static ValueWriter ofUpserts(DocumentSettings settings) {
        return new ValueWriter(
                plainValues(settings), MOST_BYTES, new UnavailableValue(settings.unavailableValuePlaceholder()));
    }

    private static PlainValues plainValues(DocumentSettings settings) {
        return new PlainValues(settings.epochs(), settings.decimalsAsText());
    }

    /**
     * The value as JSON on one line.
     *
     * @param where names the value in a refusal
     */
    byte[] json(Schema schema, Object value, String where) throws MalformedRecordException {
        try {
            if (json == null) {
                json = JSON.createGenerator(output, JsonEncoding.UTF8);
            }
            write(schema, value);
            json.flush();
            return output.take();
        } catch (UnwritableException unwritable) {
            throw refusal(where, unwritable.getMessage());
        } catch (JsonOutput.TooLargeException tooLarge) {
            throw refusal(where, "got " + tooLarge.getMessage() + ", expected no more");
        } catch (IOException | RuntimeException | StackOverflowError unknown) {
            // The cause is left out: its message may quote the value.
            throw refusal(
                    where,
                    "got " + (current == null ? "null" : UnwritableException.typeOf(current))
                            + " that cannot be written ("
                            + unknown.getClass().getSimpleName() + "), expected one of Connect's values");
        }
    }

    private MalformedRecordException refusal(String where, String what) {
        JsonStreamContext context = json.getOutputContext();
        String path = pathOf(isAtName ? context.getParent() : context);
        forget();
        return new MalformedRecordException(where + (path.isEmpty() ? "" : " at " + path) + ": " + what);
    }

    /** What was half written stays out of the next value. */
    private void forget() {
        output.take();
        json = null;
        Arrays.fill(open, null);
        depth = 0;
        current = null;
        isAtName = false;
    }

    /** The place of the value that was to be written next, as a JSON pointer. */
    private static String pathOf(JsonStreamContext innermost) {
        StringBuilder path = new StringBuilder();
        for (JsonStreamContext context = innermost; !context.inRoot(); context = context.getParent()) {
            path.insert(0, segment(context, context == innermost));
            if (path.length() > 2 * LONGEST_PATH) {
                path.delete(LONGEST_PATH, path.length());
            }
        }
        return path.length() > LONGEST_PATH ? path.substring(0, LONGEST_PATH) + "…" : path.toString();
    }

    private static String segment(JsonStreamContext context, boolean isInnermost) {
        if (context.inArray()) {
            int written = context.getEntryCount();
            return "/" + (isInnermost ? written : written - 1);
        }
        String name = context.getCurrentName();
        return name == null
                ? ""
                : "/" + name.replace("~", "~0").replace("/", "~1").replaceAll("\\p{Cntrl}", "?");
    }

    private void write(Schema schema, Object given) throws IOException, UnwritableException {
        current = given;
        Object value = plain.of(schema, given);
        if (value instanceof String text) {
            json.writeString(text);
        } else if (value instanceof Number number) {
            number(number);
        } else if (value == null) {
            json.writeNull();
        } else if (value instanceof Boolean truth) {
            json.writeBoolean(truth);
        } else if (value instanceof EmbeddedJson embedded) {
            json.writeRawValue(embedded.text());
        } else if (!container(value == given ? schema : null, value)) {
            scalar(plain.other(value));
        }
    }

    private void scalar(Object value) throws IOException {
        if (value instanceof Long number) {
            json.writeNumber(number);
        } else {
            json.writeString(value.toString());
        }
    }

    private void number(Number number) throws IOException, UnwritableException {
        if (number instanceof Integer whole) {
            json.writeNumber(whole);
        } else if (number instanceof Long whole) {
            json.writeNumber(whole);
        } else {
            otherNumber(plain.number(number));
        }
    }

    private void otherNumber(Object number) throws IOException {
        if (number instanceof Double real) {
            json.writeNumber(real);
        } else if (number instanceof Float real) {
            json.writeNumber(real);
        } else if (number instanceof BigDecimal decimal) {
            json.writeNumber(decimal);
        } else if (number instanceof BigInteger whole) {
            json.writeNumber(whole);
        } else if (number instanceof Number whole) {
            json.writeNumber(whole.longValue());
        } else {
            json.writeString(number.toString());
        }
    }

    /** Whether the value holds others; they are written. */
    private boolean container(Schema schema, Object value) throws IOException, UnwritableException {
        if (value instanceof Struct struct) {
            enter(value);
            struct(struct);
        } else if (value instanceof Map<?, ?> map) {
            enter(value);
            map(schema != null && schema.type() == Schema.Type.MAP ? schema : null, map);
        } else if (value instanceof Collection<?> elements) {
            enter(value);
            array(schema, elements);
        } else if (value.getClass().isArray() && !(value instanceof byte[])) {
            enter(value);
            array(schema, elementsOf(value));
        } else {
            return false;
        }
        open[--depth] = null;
        return true;
    }

    private void enter(Object container) throws UnwritableException {
        for (int level = depth - 1; level >= 0; level--) {
            if (open[level] == container) {
                throw UnwritableException.of(container, "one that does not hold itself");
            }
        }
        if (depth == MOST_LEVELS) {
            throw UnwritableException.of(container, "no value within " + MOST_LEVELS + " others");
        }
        if (depth == open.length) {
            open = Arrays.copyOf(open, 2 * depth);
        }
        open[depth++] = container;
    }

    private void struct(Struct struct) throws IOException, UnwritableException {
        json.writeStartObject();
        List<Field> fields = struct.schema().fields();
        for (int i = 0; i < fields.size(); i++) {
            Field field = fields.get(i);
            Object value = struct.get(field);
            if (!isLeftOut(value)) {
                json.writeFieldName(field.name());
                write(field.schema(), value);
            }
        }
        json.writeEndObject();
    }

    private boolean isLeftOut(Object value) {
        return leftOut != null && depth == 1 && leftOut.is(value);
    }

    private void map(Schema schema, Map<?, ?> map) throws IOException, UnwritableException {
        Schema keys = schema == null ? null : schema.keySchema();
        Schema values = schema == null ? null : schema.valueSchema();
        boolean isDistinct = true;
        json.writeStartObject();
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            isAtName = true;
            String name = nameOf(keys, entry.getKey());
            isAtName = false;
            isDistinct &= name == entry.getKey();
            if (!isLeftOut(entry.getValue())) {
                json.writeFieldName(name);
                write(values, entry.getValue());
            }
        }
        json.writeEndObject();
        if (!isDistinct) {
            requireDistinctNames(keys, map);
        }
    }

    /** Keys that differ, such as 1 and "1", may have one name. */
    private void requireDistinctNames(Schema schema, Map<?, ?> map) throws UnwritableException {
        Set<String> names = new HashSet<>();
        for (Object key : map.keySet()) {
            if (!names.add(nameOf(schema, key))) {
                throw new UnwritableException("got a map with two keys of one name, expected distinct names");
            }
        }
    }

    private String nameOf(Schema schema, Object key) throws UnwritableException {
        if (key instanceof String name && (schema == null || schema.name() == null)) {
            return name;
        }
        if (key == null) {
            throw new UnwritableException("got a map with a null key, expected names");
        }
        if (key instanceof Struct || key instanceof Map || key instanceof Collection) {
            throw new UnwritableException(
                    "got a map with " + UnwritableException.typeOf(key) + " for a key, expected names");
        }
        return plain.text(schema, key);
    }

    private void array(Schema schema, Collection<?> elements) throws IOException, UnwritableException {
        Schema values = schema != null && schema.type() == Schema.Type.ARRAY ? schema.valueSchema() : null;
        json.writeStartArray();
        for (Object element : elements) {
            write(values, element);
        }
        json.writeEndArray();
    }

    private static List<Object> elementsOf(Object array) {
        Object[] elements = new Object[Array.getLength(array)];
        Arrays.setAll(elements, i -> Array.get(array, i));
        return Arrays.asList(elements);
    }
}
