package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.bulk.Backoff;
import io.sluice.connect.bulk.BulkWriter;
import io.sluice.connect.bulk.Wire;
import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Offsets;
import io.sluice.connect.time.ManualTimers;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.HdrHistogram.Histogram;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;

/** What becomes of the records of a poll before they are sent. */
class IntakeTest {
    private static final int OBJECTS_BYTES = 512;

    private final ManualTimers timers = new ManualTimers();
    private final SinkMetrics metrics = new SinkMetrics();
    private final Offsets offsets = new Offsets(metrics);
    private final List<Wire.Exchange> requests = new ArrayList<>();
    private Backlog backlog;
    private Settlement settlement;
    private BulkWriter writer;

    /** Takes the records as one poll, with the settings, which stand as key, value, key, value. */
    private void take(long mostBytes, List<SinkRecord> records, String... settings) {
        SinkConfig config =
                new SinkConfig(TaskHarness.settings(Map.of("connection.url", "http://localhost:9"), settings));
        backlog = new Backlog(1_009, mostBytes, timers);
        settlement = new Settlement(
                config.writing().onMalformedDocuments(),
                DeadLetters.of(null, Map.of()),
                backlog,
                metrics,
                timers,
                () -> 5_000);
        Backoff backoff = new Backoff(100, 1_000, () -> 1.0);
        writer = new BulkWriter(config, new Wire(requests::add), backoff, timers, settlement, metrics);
        offsets.open(List.of(new TopicPartition("books", 0)));
        new Intake(config, offsets, backlog, settlement, writer, timers, metrics).take(records);
        writer.flush();
    }

    private static SinkRecord record(long offset, String value, Long timestamp) {
        return new SinkRecord(
                "books",
                0,
                null,
                "k" + offset,
                null,
                value == null ? null : value.getBytes(UTF_8),
                offset,
                timestamp,
                timestamp == null ? TimestampType.NO_TIMESTAMP_TYPE : TimestampType.CREATE_TIME);
    }

    private static List<SinkRecord> records(String... values) {
        List<SinkRecord> records = new ArrayList<>();
        Arrays.stream(values).forEach(value -> records.add(record(records.size(), value, null)));
        return records;
    }

    private long count(String name) {
        return (long) metrics.ledger().get(name);
    }

    private long committable() {
        return offsets.of("books", 0).committable();
    }

    private String failure() {
        return assertThrows(ConnectException.class, settlement::throwFailure).getMessage();
    }

    /** The records of a poll are counted, take the room of their operations and of what is around them, and are sent. */
    @Test
    void aPollIsCountedAndSent() {
        take(1, records("{}", "{\"a\":1}", "{}"));
        assertEquals(3, count("RecordsRead"));
        assertEquals(0, committable());
        long bytes = requests.get(0).body().length() + 3 * ("k0".length() + OBJECTS_BYTES);
        assertEquals(3, requests.get(0).items());
        take(bytes, records("{}", "{\"a\":1}", "{}"));
        assertTrue(backlog.isFull());
        take(bytes + 1, records("{}", "{\"a\":1}", "{}"));
        assertFalse(backlog.isFull());
    }

    /** Of a map, the JSON made of it counts as acknowledged. */
    @Test
    void theJsonOfAMapCountsAsAcknowledged() {
        take(1 << 20, List.of(new SinkRecord("books", 0, null, "k", null, Map.of("a", 1), 0)));
        requests.get(0).succeed();
        assertEquals((long) "{\"a\":1}".length(), metrics.snapshot().get("BytesAcknowledged"));
    }

    /** A record without a value is a delete, is let go, or ends the task, as the settings say. */
    @Test
    void recordsWithoutAValueAreWhatTheSettingsSay() {
        take(1_009, records((String) null), "behavior.on.null.values", "delete");
        assertTrue(
                requests.get(0).body().startsWith("{\"delete\":"),
                requests.get(0).body());
        take(OBJECTS_BYTES, records((String) null), "behavior.on.null.values", "ignore");
        assertEquals(1, committable());
        assertEquals(1, count("RecordsDropped"));
        assertFalse(backlog.isFull());
        take(OBJECTS_BYTES, records((String) null), "behavior.on.null.values", "fail");
        assertEquals("books-0@0: got a record without a value; behavior.on.null.values=fail stops the task", failure());
        assertEquals(0, committable());
        assertTrue(backlog.isFull());
        assertEquals(1, requests.size());
    }

    /** What is no document is let go or ends the task, as the settings say; its neighbours are sent. */
    @Test
    void whatIsNoDocumentIsWhatTheSettingsSay() {
        take(1_009, records("[1]", "{}"), "behavior.on.malformed.documents", "fail");
        assertTrue(failure().startsWith("books-0@0: record value: got 3 bytes that are wrong from byte 0"), failure());
        assertEquals(0, committable());
        assertEquals(1, requests.get(0).items());
        take(1_009, records("[1]", "{}"), "behavior.on.malformed.documents", "fail", "drop.invalid.message", "true");
        settlement.throwFailure();
        assertEquals(1, committable());
        take(3 + OBJECTS_BYTES, records("[1]"), "behavior.on.malformed.documents", "fail");
        assertTrue(backlog.isFull());
        take(4 + OBJECTS_BYTES, records("[1]"), "behavior.on.malformed.documents", "fail");
        assertFalse(backlog.isFull());
        take(1 + OBJECTS_BYTES, records("[1]"), "behavior.on.malformed.documents", "ignore");
        assertEquals(1, committable());
        assertFalse(backlog.isFull());
    }

    /** A record's age counts from what its header says, in eight bytes or as a number, else from its timestamp. */
    @Test
    void theAgeCountsFromTheHeaderOrTheTimestamp() throws Exception {
        List<SinkRecord> records = new ArrayList<>();
        Object[] headers = {ByteBuffer.allocate(8).putLong(0, 4_000).array(), 3_000L, "2000", new byte[7], null};
        for (Object header : headers) {
            SinkRecord record = record(records.size(), "{}", 1L);
            record.headers().add("due", header, null);
            records.add(record);
        }
        records.add(record(records.size(), "{}", 1L));
        records.add(record(records.size(), "{}", null));
        take(1 << 20, records, "age.header", "due");
        requests.get(0).succeed();
        assertEquals(7, committable());
        String histogram = (String) ((Supplier<?>) metrics.snapshot().get("RecordAgeHistogram")).get();
        Histogram ages = Histogram.decodeFromCompressedByteBuffer(
                ByteBuffer.wrap(Base64.getDecoder().decode(histogram)), 0);
        assertEquals(1, ages.getCountAtValue(1_000));
        assertEquals(1, ages.getCountAtValue(2_000));
        assertEquals(4, ages.getCountAtValue(4_000));
        assertEquals(6, ages.getTotalCount());
    }

    @Test
    void theAgeComesInABufferOfAnyKind() throws Exception {
        SinkRecord record = record(0, "{}", 1L);
        ByteBuffer slice = ByteBuffer.allocateDirect(9).putLong(1, 4_000).slice(1, 8);
        record.headers().add("due", slice.asReadOnlyBuffer(), null);
        take(1 << 20, List.of(record), "age.header", "due");
        requests.get(0).succeed();
        String histogram = (String) ((Supplier<?>) metrics.snapshot().get("RecordAgeHistogram")).get();
        Histogram ages = Histogram.decodeFromCompressedByteBuffer(
                ByteBuffer.wrap(Base64.getDecoder().decode(histogram)), 0);
        assertEquals(1, ages.getTotalCount());
        assertEquals(1, ages.getCountAtValue(1_000));
    }
}
