package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import io.sluice.connect.config.DocumentSettings;
import io.sluice.connect.config.MetadataField;
import io.sluice.connect.offset.Origin;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.time.Instant;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;

/** Members that Kafka's side of a record adds to its document, as JSON text. */
final class RecordFields {
    private static final JsonFactory JSON = new JsonFactory();
    private static final String TIMESTAMP = "@timestamp";

    private final String object;
    private final Set<MetadataField> fields;
    private final ValueWriter values;

    RecordFields(DocumentSettings settings, ValueWriter values) {
        this.object = settings.metadataObject();
        this.fields = settings.metadataFields();
        this.values = values;
    }

    boolean areNone() {
        return fields.isEmpty();
    }

    /** {@code "kafka":{"topic":…}} with the fields asked for; what the record has not is {@code null}. */
    String metadata(SinkRecord record, Origin origin) throws MalformedRecordException {
        StringJoiner members = new StringJoiner(",", quoted(object) + ":{", "}");
        for (MetadataField field : fields) {
            members.add(quoted(field.fieldName()) + ":" + valueOf(field, record, origin));
        }
        return members.toString();
    }

    private String valueOf(MetadataField field, SinkRecord record, Origin origin) throws MalformedRecordException {
        return switch (field) {
            case TOPIC -> quoted(origin.topic());
            case PARTITION -> Integer.toString(origin.partition());
            case OFFSET -> Long.toString(origin.offset());
            case TIMESTAMP -> String.valueOf(record.timestamp());
            case KEY -> valueOf(record.keySchema(), record.key(), "record key");
            case HEADERS -> headers(record);
        };
    }

    private String headers(SinkRecord record) throws MalformedRecordException {
        Map<String, Header> last = new LinkedHashMap<>();
        record.headers().forEach(header -> last.put(header.key(), header));
        StringJoiner members = new StringJoiner(",", "{", "}");
        for (Header header : last.values()) {
            members.add(quoted(header.key()) + ":"
                    + valueOf(header.schema(), header.value(), "record header " + header.key()));
        }
        return members.toString();
    }

    /** As in a document; but bytes that are text are a string. */
    private String valueOf(Schema schema, Object value, String where) throws MalformedRecordException {
        byte[] bytes = schema == null || schema.name() == null ? Buffers.bytesOf(value) : null;
        if (bytes == null) {
            return new String(values.json(schema, value, where), UTF_8);
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
