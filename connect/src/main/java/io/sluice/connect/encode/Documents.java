package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;

/** Turns the value of a record into one line of a bulk request. Not safe for several threads. */
public final class Documents {
    private final JsonObjectCheck check = new JsonObjectCheck();
    private JsonConverter converter;

    /**
     * The value as one line of UTF-8 between braces, which Elasticsearch finds to be a JSON object or rejects.
     *
     * <p>It parses every document anyway, and an item that it rejects harms no other, so that parsing here as well would
     * only cost. What may be no single line is checked like {@link #checked}.
     */
    byte[] unparsed(SinkRecord record) throws MalformedRecordException {
        byte[] json = bytesOf(record);
        return OneLine.isBraced(json) ? json : checked(json);
    }

    /** The value's JSON; bytes and strings go through as they are, only line breaks between tokens become spaces. */
    byte[] checked(SinkRecord record) throws MalformedRecordException {
        return checked(bytesOf(record));
    }

    private byte[] checked(byte[] json) throws MalformedRecordException {
        String fault = check.faultOf(json);
        if (fault != null) {
            throw new MalformedRecordException(fault);
        }
        return check.hasLineBreaks() ? onOneLine(json) : json;
    }

    /** Why a record's value is no JSON object, without quoting it; {@code null} when it is one, or no text at all. */
    public static String faultOf(SinkRecord record) {
        byte[] json = textOf(record.value());
        return json == null ? null : new JsonObjectCheck().faultOf(json);
    }

    private byte[] bytesOf(SinkRecord record) throws MalformedRecordException {
        byte[] text = textOf(record.value());
        return text == null ? converted(record) : text;
    }

    private static byte[] textOf(Object value) {
        if (value instanceof byte[] bytes) {
            return bytes;
        }
        if (value instanceof String text) {
            return text.getBytes(UTF_8);
        }
        if (value instanceof ByteBuffer buffer) {
            byte[] bytes = new byte[buffer.remaining()];
            buffer.duplicate().get(bytes);
            return bytes;
        }
        return null;
    }

    private byte[] converted(SinkRecord record) throws MalformedRecordException {
        if (converter == null) {
            converter = new JsonConverter();
            converter.configure(Map.of("schemas.enable", "false", "decimal.format", "NUMERIC"), false);
        }
        try {
            return converter.fromConnectData(record.topic(), record.valueSchema(), record.value());
        } catch (DataException notConvertible) {
            // The cause is left out: its message may quote the value.
            throw new MalformedRecordException("record value: JsonConverter cannot write it: "
                    + notConvertible.getClass().getSimpleName());
        }
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
