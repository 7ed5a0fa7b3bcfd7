package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import io.sluice.connect.config.MetadataField;
import io.sluice.connect.offset.Origin;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.StringJoiner;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;

/** Members that Kafka's side of a record adds to its document, as JSON text. */
final class RecordFields {
    private static final JsonFactory JSON = new JsonFactory();
    private static final String TIMESTAMP = "@timestamp";

    private RecordFields() {}

    /** {@code "kafka":{"topic":…}} with the fields asked for; what the record has not is {@code null}. */
    static String metadata(String object, Set<MetadataField> fields, SinkRecord record, Origin origin) {
        StringJoiner members = new StringJoiner(",", quoted(object) + ":{", "}");
        for (MetadataField field : fields) {
            String value =
                    switch (field) {
                        case TOPIC -> quoted(origin.topic());
                        case PARTITION -> Integer.toString(origin.partition());
                        case OFFSET -> Long.toString(origin.offset());
                        case TIMESTAMP -> String.valueOf(record.timestamp());
                        case KEY -> valueOf(record.key());
                        case HEADERS -> headers(record);
                    };
            members.add(quoted(field.fieldName()) + ":" + value);
        }
        return members.toString();
    }

    private static String headers(SinkRecord record) {
        java.util.Map<String, String> last = new java.util.LinkedHashMap<>();
        for (Header header : record.headers()) {
            last.put(header.key(), valueOf(header.value()));
        }
        StringJoiner members = new StringJoiner(",", "{", "}");
        last.forEach((key, value) -> members.add(quoted(key) + ":" + value));
        return members.toString();
    }

    /** Text as a string, numbers and booleans as they are, bytes that are no text in base64. */
    private static String valueOf(Object value) {
        if (value == null) {
            return "null";
        }
        boolean isFinite =
                !(value instanceof Double || value instanceof Float) || Double.isFinite(((Number) value).doubleValue());
        if (value instanceof Boolean || value instanceof Number && isFinite) {
            return value.toString();
        }
        if (!(value instanceof byte[] bytes)) {
            return quoted(value.toString());
        }
        try {
            return quoted(UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
        } catch (CharacterCodingException noText) {
            return quoted(Base64.getEncoder().encodeToString(bytes));
        }
    }

    static String quoted(String text) {
        return '"' + new String(JsonStringEncoder.getInstance().quoteAsString(text)) + '"';
    }

    /**
     * The {@code "@timestamp":…} that a document lacks for a data stream, or {@code null} when it has one.
     *
     * @param fields names of members to take it from, the first one present wins; otherwise the record's timestamp
     */
    static String timestamp(byte[] json, List<String> fields, SinkRecord record) throws MalformedRecordException {
        String found = null;
        int rank = fields.size();
        try (JsonParser parser = JSON.createParser(json)) {
            parser.nextToken();
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String name = parser.currentName();
                JsonToken value = parser.nextToken();
                if (name.equals(TIMESTAMP)) {
                    return null;
                }
                int at = fields.indexOf(name);
                if (at >= 0 && at < rank && value.isScalarValue() && value != JsonToken.VALUE_NULL) {
                    rank = at;
                    found = value == JsonToken.VALUE_STRING ? quoted(parser.getText()) : parser.getText();
                }
                parser.skipChildren();
            }
        } catch (IOException unreadable) {
            // The cause is left out: its message may quote the document.
            throw new MalformedRecordException("record value: cannot be read for its @timestamp");
        }
        if (found == null && record.timestamp() == null) {
            throw new MalformedRecordException("record value: got no @timestamp and no record timestamp, expected one"
                    + " of them (a data stream needs it)");
        }
        return quoted(TIMESTAMP) + ":"
                + (found != null
                        ? found
                        : quoted(Instant.ofEpochMilli(record.timestamp()).toString()));
    }
}
