package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.encode.Operation.Kind;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.offset.Origin;
import io.sluice.connect.offset.PartitionOffsets;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;

/** Rewritten deletes: rows whose field says that they are deleted. */
class DeletedFieldTest {
    private static final Schema ROW = SchemaBuilder.struct()
            .field("__deleted", Schema.OPTIONAL_STRING_SCHEMA)
            .build();
    private static final Schema ROW_OF_FLAG = SchemaBuilder.struct()
            .field("__deleted", SchemaBuilder.bool().defaultValue(true).build())
            .build();

    private final PartitionOffsets partition = new PartitionOffsets(new SinkMetrics().ledgerOf("books", 3));

    private Operation operation(Object value, String... settings) throws MalformedRecordException {
        Map<String, String> given = new HashMap<>(Map.of(
                "connection.url",
                "http://localhost:9",
                "behavior.on.null.values",
                "delete",
                "deleted.field",
                "__deleted"));
        for (int i = 0; i < settings.length; i += 2) {
            given.put(settings[i], settings[i + 1]);
        }
        SinkRecord record = new SinkRecord("books", 3, null, "k", null, value, 41);
        return new RecordEncoder(new SinkConfig(given))
                .encode(new Delivery(record, partition, new Origin("books", 3, 41), 1, -1));
    }

    private Kind kind(Object value, String... settings) throws MalformedRecordException {
        return operation(value, settings).kind();
    }

    @Test
    void aRewrittenDeleteIsADeleteLikeATombstone() throws Exception {
        String ofATombstone = new String(operation(null).line(0), UTF_8);
        for (Object value : new Object[] {
            Map.of("id", 7, "__deleted", "true"),
            Map.of("id", 7, "__deleted", true),
            new TreeMap<>(Map.of("__deleted", true)),
            new Struct(ROW).put("__deleted", "true"),
            new Struct(ROW_OF_FLAG).put("__deleted", true)
        }) {
            Operation operation = operation(value);
            assertEquals(1, operation.lines());
            assertEquals(ofATombstone, new String(operation.line(0), UTF_8));
        }
        assertEquals("{\"delete\":{\"_id\":\"k\",\"version_type\":\"external\",\"version\":41}}", ofATombstone);
        assertEquals(Kind.DELETE, kind(Map.of("__deleted", "true"), "write.method", "upsert"));
    }

    @Test
    void otherRowsAreDocuments() throws Exception {
        for (Object value : new Object[] {
            Map.of("__deleted", "false"),
            Map.of("__deleted", false),
            Map.of("__deleted", 1),
            Map.of("row", Map.of("__deleted", true)),
            new TreeMap<>(Map.of(7, true)),
            new Struct(ROW),
            new Struct(ROW).put("__deleted", "false"),
            new Struct(ROW_OF_FLAG).put("__deleted", false),
            "{\"__deleted\":\"true\"}"
        }) {
            assertEquals(Kind.INDEX, kind(value), value.toString());
        }
    }

    @Test
    void withoutTheSettingRewrittenDeletesStayDocuments() throws Exception {
        assertEquals(Kind.INDEX, kind(Map.of("__deleted", "true"), "deleted.field", ""));
    }

    /** There the delete is one more event. */
    @Test
    void whereKeysAreIgnoredRewrittenDeletesStayDocuments() throws Exception {
        assertEquals(Kind.CREATE, kind(Map.of("__deleted", "true"), "key.ignore.topics", "books"));
    }

    /** Until it is completed the worker's record, and with it the row, stays on the heap. */
    @Test
    void theRowOfARewrittenDeleteIsCountedAsHeld() throws Exception {
        Map<String, Object> row = Map.of("__deleted", true, "text", "a".repeat(1_009));
        assertTrue(operation(row).heldBytes() > 1_009);
    }
}
