package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.offset.Origin;
import io.sluice.connect.offset.PartitionOffsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Headers;
import org.apache.kafka.connect.sink.SinkRecord;

/** Operations of records, as the task makes them with some settings. */
final class Encoding {
    private static final SchemaAndValue KEY = new SchemaAndValue(Schema.STRING_SCHEMA, "k");

    private final PartitionOffsets partition = new PartitionOffsets(new SinkMetrics().ledgerOf("books", 0));
    private final RecordEncoder encoder;

    /** @param settings key, value, key, value */
    Encoding(String... settings) {
        Map<String, String> given = new HashMap<>(Map.of("connection.url", "http://localhost:9"));
        for (int i = 0; i < settings.length; i += 2) {
            given.put(settings[i], settings[i + 1]);
        }
        encoder = new RecordEncoder(new SinkConfig(given));
    }

    static SinkRecord record(SchemaAndValue key, SchemaAndValue value, Headers headers) {
        return new SinkRecord(
                "books",
                0,
                key.schema(),
                key.value(),
                value.schema(),
                value.value(),
                41,
                1_709_164_799_999L,
                TimestampType.CREATE_TIME,
                headers);
    }

    /** A record whose value is one field: of a struct or, without a schema, of a map. */
    static SinkRecord field(Schema schema, Object value) {
        if (schema == null) {
            Map<String, Object> map = new HashMap<>();
            map.put("f", value);
            return record(KEY, new SchemaAndValue(null, map), new ConnectHeaders());
        }
        Schema struct = SchemaBuilder.struct().field("f", schema).build();
        return record(KEY, new SchemaAndValue(struct, new Struct(struct).put("f", value)), new ConnectHeaders());
    }

    static SinkRecord value(Schema schema, Object value) {
        return record(KEY, new SchemaAndValue(schema, value), new ConnectHeaders());
    }

    static SinkRecord key(Schema schema, Object key) {
        return record(
                new SchemaAndValue(schema, key), new SchemaAndValue(null, "{}".getBytes(UTF_8)), new ConnectHeaders());
    }

    static SinkRecord header(Schema schema, Object value) {
        return record(
                KEY, new SchemaAndValue(null, "{}".getBytes(UTF_8)), new ConnectHeaders().add("h", value, schema));
    }

    Operation operation(SinkRecord record) throws MalformedRecordException {
        return encoder.encode(new Delivery(record, partition, new Origin("books", 0, 41), 1, -1));
    }

    /** The document of a record. */
    String document(SinkRecord record) throws MalformedRecordException {
        return new String(operation(record).line(1), UTF_8);
    }

    String action(SinkRecord record) throws MalformedRecordException {
        return new String(operation(record).line(0), UTF_8);
    }

    /** The JSON of the value that {@link #field} was given. */
    String jsonOf(Schema schema, Object value) throws MalformedRecordException {
        String document = document(field(schema, value));
        return document.substring("{\"f\":".length(), document.length() - 1);
    }

    String refusal(SinkRecord record) {
        return assertThrows(MalformedRecordException.class, () -> operation(record))
                .getMessage();
    }
}
