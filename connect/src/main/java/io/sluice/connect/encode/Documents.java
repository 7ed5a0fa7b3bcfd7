package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;

/** Turns the value of a record into one line of JSON. Not safe for several threads. */
final class Documents {
    private final JsonObjectCheck check = new JsonObjectCheck();
    private JsonConverter converter;

    /** The value's JSON; bytes and strings go through as they are, only line breaks between tokens become spaces. */
    byte[] of(SinkRecord record) throws MalformedRecordException {
        byte[] json = bytesOf(record);
        int offence = check.firstOffence(json);
        if (offence >= 0) {
            throw new MalformedRecordException("record value: got " + json.length + " bytes that are wrong from byte "
                    + offence + " on, expected one JSON object in UTF-8");
        }
        return check.hasLineBreaks() ? onOneLine(json) : json;
    }

    private byte[] bytesOf(SinkRecord record) throws MalformedRecordException {
        Object value = record.value();
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
        return converted(record);
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
