package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.sink.SinkRecord;

/** Turns the value of a record into one line of a bulk request. Not safe for several threads. */
public final class Documents {
    private static final int WIRE_FORMAT_BYTES = 5;

    private final JsonObjectCheck check = new JsonObjectCheck();
    private final Envelopes envelopes = new Envelopes();
    private final ChangeEvents changeEvents = new ChangeEvents();
    private final ValueWriter values;

    Documents(ValueWriter values) {
        this.values = values;
    }

    /**
     * The value as one line of UTF-8 between braces, which Elasticsearch finds to be a JSON object or rejects.
     *
     * <p>It parses every document anyway, and an item that it rejects harms no other, so that parsing here as well would
     * only cost. What may be no single line is checked like {@link #checked}.
     */
    byte[] unparsed(SinkRecord record) throws MalformedRecordException {
        byte[] json = textOf(record.value());
        if (json == null) {
            return written(record);
        }
        envelopes.note(record.topic(), json);
        return OneLine.isBraced(json) ? json : checked(json);
    }

    /** The value's JSON; bytes and strings go through as they are, only line breaks between tokens become spaces. */
    byte[] checked(SinkRecord record) throws MalformedRecordException {
        byte[] json = textOf(record.value());
        if (json == null) {
            return written(record);
        }
        envelopes.note(record.topic(), json);
        return checked(json);
    }

    private byte[] checked(byte[] json) throws MalformedRecordException {
        String fault = faultOf(check, json);
        if (fault != null) {
            throw new MalformedRecordException(fault);
        }
        return check.hasLineBreaks() ? onOneLine(json) : json;
    }

    /** Why a record's value is no JSON object, without quoting it; {@code null} when it is one, or no text at all. */
    public static String faultOf(SinkRecord record) {
        byte[] json = textOf(record.value());
        return json == null ? null : faultOf(new JsonObjectCheck(), json);
    }

    private static String faultOf(JsonObjectCheck check, byte[] json) {
        String fault = check.faultOf(json);
        if (fault == null || json.length < WIRE_FORMAT_BYTES || json[0] != 0) {
            return fault;
        }
        return fault + "; byte 0 and schema id "
                + ByteBuffer.wrap(json, 1, Integer.BYTES).getInt()
                + " before it are a schema registry's wire format: set its converter as value.converter";
    }

    private static byte[] textOf(Object value) {
        return value instanceof String text ? text.getBytes(UTF_8) : Buffers.bytesOf(value);
    }

    /** Needs no check: what is written is JSON on one line. */
    private byte[] written(SinkRecord record) throws MalformedRecordException {
        Object value = record.value();
        byte[] json = value instanceof Struct || value instanceof Map
                ? values.json(record.valueSchema(), value, "record value")
                : null;
        if (json == null || json[0] != '{') {
            throw new MalformedRecordException("record value: got " + UnwritableException.typeOf(value)
                    + ", expected a struct, a map, or JSON in a string or bytes");
        }
        changeEvents.note(record.topic(), value);
        return json;
    }

    /** A raw line break cannot stand inside a string of valid JSON, so each one is whitespace between tokens. */
    private static byte[] onOneLine(byte[] json) {
        byte[] line = json.clone();
        for (int i = 0; i < line.length; i++) {
            if (line[i] == '\n' || line[i] == '\r') {
                line[i] = ' ';
            }
        }
        return line;
    }
}
