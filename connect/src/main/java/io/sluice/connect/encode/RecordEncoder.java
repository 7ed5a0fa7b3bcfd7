package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.config.WriteMethod;
import io.sluice.connect.encode.Operation.Kind;
import io.sluice.connect.offset.Delivery;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.connect.sink.SinkRecord;

/** Makes the operation of a bulk request from a record. Not safe for several threads. */
public final class RecordEncoder {
    private static final byte[] ID = ascii("\":{\"_id\":\"");
    private static final byte[] VERSION = ascii("\",\"version_type\":\"external\",\"version\":");
    private static final byte[] RETRY_ON_CONFLICT = ascii("\",\"retry_on_conflict\":3}}");
    private static final byte[] DOC = ascii("{\"doc\":");
    private static final byte[] AS_UPSERT = ascii(",\"doc_as_upsert\":true}");

    private final SinkConfig config;
    private final Documents documents = new Documents();
    private final Map<String, String> indexOfTopic = new HashMap<>();

    public RecordEncoder(SinkConfig config) {
        this.config = config;
    }

    /** The operation for a record that has a value, or the delete for one that has none. */
    public Operation encode(Delivery delivery) throws MalformedRecordException {
        SinkRecord record = delivery.record();
        String index = indexOfTopic.computeIfAbsent(record.topic(), config::indexOf);
        byte[] id = config.keyIgnored() ? DocumentIds.ofOrigin(delivery.origin()) : DocumentIds.ofKey(record.key());
        Kind kind = kindOf(record);
        byte[] action = action(kind, id, delivery.origin().offset());
        byte[] source = kind == Kind.DELETE ? null : source(kind, documents.of(record));
        return new Operation(kind, index, id, action, source, delivery);
    }

    private Kind kindOf(SinkRecord record) {
        if (record.value() == null) {
            return Kind.DELETE;
        }
        if (config.writeMethod() == WriteMethod.UPSERT) {
            return Kind.UPDATE;
        }
        return config.keyIgnored() ? Kind.CREATE : Kind.INDEX;
    }

    /** An upsert cannot carry an external version, and mixed with versioned deletes it would meet false conflicts. */
    private boolean isVersioned() {
        return !config.keyIgnored() && config.writeMethod() == WriteMethod.INSERT;
    }

    private byte[] action(Kind kind, byte[] id, long offset) {
        byte[] name = NAMES[kind.ordinal()];
        if (kind == Kind.UPDATE) {
            return concatenated(name, ID, id, RETRY_ON_CONFLICT);
        }
        if (isVersioned()) {
            return concatenated(name, ID, id, VERSION, ascii(offset + "}}"));
        }
        return concatenated(name, ID, id, END);
    }

    private static final byte[] END = ascii("\"}}");
    private static final byte[][] NAMES = {ascii("{\"index"), ascii("{\"create"), ascii("{\"update"), ascii("{\"delete")
    };

    private static byte[] source(Kind kind, byte[] json) {
        return kind == Kind.UPDATE ? concatenated(DOC, json, AS_UPSERT) : json;
    }

    private static byte[] concatenated(byte[]... parts) {
        int length = 0;
        for (byte[] part : parts) {
            length += part.length;
        }
        byte[] whole = new byte[length];
        int at = 0;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, whole, at, part.length);
            at += part.length;
        }
        return whole;
    }

    private static byte[] ascii(String text) {
        return text.getBytes(US_ASCII);
    }
}
