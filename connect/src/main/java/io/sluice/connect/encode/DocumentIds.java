package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.offset.Origin;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.sink.SinkRecord;

/** Document ids as they stand between the quotes of a JSON string. */
public final class DocumentIds {
    /** Elasticsearch refuses the whole bulk request when one id is longer. */
    private static final int LONGEST_ID_BYTES = 512;

    static final byte[] NOTHING = {};

    private DocumentIds() {}

    /**
     * Topic, partition and offset, which no other record of the Kafka cluster has.
     *
     * @param prefix what stands before them, {@link #quoted}
     */
    static byte[] ofOrigin(String prefix, Origin origin) {
        return (prefix + origin.topic() + "+" + origin.partition() + "+" + origin.offset()).getBytes(UTF_8);
    }

    /** The text as it stands between quotes. */
    static String quoted(String text) {
        StringBuilder json = new StringBuilder(text.length());
        text.chars().forEach(c -> appendEscaped(json, (char) c));
        return json.toString();
    }

    /** The record's key as text: a single value, or its fields. */
    static byte[] ofKey(SinkRecord record, KeyFields fields) throws MalformedRecordException {
        return ofKey(record, fields, "_id");
    }

    /** Likewise for a routing. */
    static byte[] ofRoutingKey(SinkRecord record, KeyFields fields) throws MalformedRecordException {
        return ofKey(record, fields, "routing");
    }

    private static byte[] ofKey(SinkRecord record, KeyFields fields, String what) throws MalformedRecordException {
        byte[] text = KeyFields.areIn(record.key())
                ? fields.text(record.key()).getBytes(UTF_8)
                : textOf(record.keySchema(), record.key(), "record key", what);
        return quotable(text, "record key", what);
    }

    /** A single value as a routing; {@code where} says in a refusal where it comes from. */
    static byte[] ofRouting(Schema schema, Object value, String where) throws MalformedRecordException {
        return quotable(textOf(schema, value, where, "routing"), where, "routing");
    }

    private static byte[] quotable(byte[] text, String where, String what) throws MalformedRecordException {
        if (text.length == 0 || text.length > LONGEST_ID_BYTES) {
            throw new MalformedRecordException(where + ": got " + text.length + " bytes, expected 1 to "
                    + LONGEST_ID_BYTES + " (it becomes the document's " + what + ")");
        }
        return isPlain(text) ? text : escaped(text, where);
    }

    private static byte[] textOf(Schema schema, Object key, String where, String what) throws MalformedRecordException {
        byte[] bytes = Buffers.bytesOf(key);
        if (bytes != null) {
            return bytes;
        }
        if (key instanceof String || key instanceof Number || key instanceof Boolean) {
            return utf8(key.toString(), where);
        }
        return utf8(plainText(schema, key, where, what), where);
    }

    /** Half a character would become a question mark, and so two keys one id. */
    private static byte[] utf8(String text, String where) throws MalformedRecordException {
        byte[] bytes = text.getBytes(UTF_8);
        if (!new String(bytes, UTF_8).equals(text)) {
            throw new MalformedRecordException(where + ": got half a surrogate pair, expected text");
        }
        return bytes;
    }

    private static String plainText(Schema schema, Object key, String where, String what)
            throws MalformedRecordException {
        try {
            return PlainValues.OF_IDS.text(schema, key);
        } catch (UnwritableException | RuntimeException none) {
            throw new MalformedRecordException(
                    where + ": got " + (key == null ? "none" : UnwritableException.typeOf(key))
                            + ", expected bytes, a string or a number (it becomes the document's " + what + ")");
        }
    }

    private static boolean isPlain(byte[] id) {
        for (byte b : id) {
            if (b < ' ' || b == '"' || b == '\\') {
                return false;
            }
        }
        return true;
    }

    private static byte[] escaped(byte[] id, String where) throws MalformedRecordException {
        String text;
        try {
            text = UTF_8.newDecoder().decode(ByteBuffer.wrap(id)).toString();
        } catch (CharacterCodingException notUtf8) {
            throw new MalformedRecordException(where + ": got bytes that are not UTF-8, expected text", notUtf8);
        }
        return quoted(text).getBytes(UTF_8);
    }

    private static void appendEscaped(StringBuilder json, char c) {
        if (c < ' ') {
            json.append(String.format("\\u%04x", (int) c));
        } else if (c == '"' || c == '\\') {
            json.append('\\').append(c);
        } else {
            json.append(c);
        }
    }

    /** The id itself: what {@link #escaped} made is undone. */
    public static String unquoted(byte[] id) {
        String json = new String(id, UTF_8);
        StringBuilder text = new StringBuilder(json.length());
        for (int i = 0; i < json.length(); i++) {
            char c = json.charAt(i);
            if (c == '\\') {
                c = json.charAt(++i);
                if (c == 'u') {
                    c = (char) Integer.parseInt(json, i + 1, i + 5, 16);
                    i += 4;
                }
            }
            text.append(c);
        }
        return text.toString();
    }
}
