package io.sluice.connect.encode;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonPointer;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.filter.FilteringParserDelegate;
import com.fasterxml.jackson.core.filter.JsonPointerBasedFilter;
import com.fasterxml.jackson.core.filter.TokenFilter.Inclusion;
import java.io.IOException;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;

/** Where a document's routing comes from. */
interface Routing {
    /**
     * The routing as it stands between quotes, or nothing for a record that has none.
     *
     * @param json the record's document, {@code null} for a delete
     */
    byte[] of(SinkRecord record, byte[] json) throws MalformedRecordException;

    /** By the setting: {@code key}, {@code header:NAME}, a JSON pointer, or nothing. */
    static Routing by(String setting, KeyFields keyFields) {
        if (setting.isEmpty()) {
            return (record, json) -> DocumentIds.NOTHING;
        }
        if (setting.equals("key")) {
            return (record, json) -> DocumentIds.ofRoutingKey(record, keyFields);
        }
        if (setting.startsWith("/")) {
            return new ByPointer(JsonPointer.compile(setting));
        }
        String name = setting.substring("header:".length());
        return (record, json) -> {
            Header header = record.headers().lastWithName(name);
            return header == null || header.value() == null
                    ? DocumentIds.NOTHING
                    : DocumentIds.ofRouting(header.schema(), header.value(), "record header " + name);
        };
    }

    /** Reads the document's tokens up to the value, and builds nothing of it. */
    record ByPointer(JsonPointer pointer) implements Routing {
        private static final JsonFactory JSON = new JsonFactory();

        @Override
        public byte[] of(SinkRecord record, byte[] json) throws MalformedRecordException {
            return json == null ? DocumentIds.NOTHING : of(json);
        }

        private byte[] of(byte[] json) throws MalformedRecordException {
            try (JsonParser parser = new FilteringParserDelegate(
                    JSON.createParser(json), new JsonPointerBasedFilter(pointer), Inclusion.ONLY_INCLUDE_ALL, false)) {
                JsonToken value = parser.nextToken();
                if (value == null || value == JsonToken.VALUE_NULL) {
                    return DocumentIds.NOTHING;
                }
                if (!value.isScalarValue()) {
                    throw new MalformedRecordException("record value: got an "
                            + (value == JsonToken.START_OBJECT ? "object" : "array") + " at " + pointer
                            + ", expected a string, a number or a boolean (it becomes the document's routing)");
                }
                return DocumentIds.ofRouting(null, parser.getText(), "record value at " + pointer);
            } catch (IOException unreadable) {
                // The cause is left out: its message may quote the document.
                throw new MalformedRecordException("record value: cannot be read for its routing");
            }
        }
    }
}
