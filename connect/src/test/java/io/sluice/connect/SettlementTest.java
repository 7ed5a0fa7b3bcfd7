package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.bulk.ItemError;
import io.sluice.connect.config.OnMalformedDocuments;
import io.sluice.connect.metrics.Fate;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.offset.Offsets;
import io.sluice.connect.offset.Origin;
import io.sluice.connect.time.ManualTimers;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.HdrHistogram.Histogram;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTaskContext;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What becomes of a record whose fate is known: its offset, the room it takes, its count, its dead letter. */
class SettlementTest {
    private static final TopicPartition BOOKS = new TopicPartition("books", 0);
    private static final long MOST_BYTES = 1_009;
    private static final ItemError ERROR = new ItemError("x_exception", "why");

    private final ManualTimers timers = new ManualTimers();
    private final SinkMetrics metrics = new SinkMetrics();
    private final Offsets offsets = new Offsets(metrics);
    private final Backlog backlog = new Backlog(2, MOST_BYTES, timers);
    private final List<String> letters = new ArrayList<>();
    private final List<CompletableFuture<Void>> arrivals = new ArrayList<>();
    private ErrantRecordReporter reporter = (record, error) -> {
        letters.add(error.getMessage());
        arrivals.add(new CompletableFuture<>());
        return arrivals.get(arrivals.size() - 1);
    };
    private Settlement settlement;
    private long nextOffset;

    @BeforeEach
    void begin() {
        offsets.open(List.of(BOOKS));
        settle(OnMalformedDocuments.REPORT);
    }

    private void settle(OnMalformedDocuments onMalformed, String... settings) {
        Map<String, String> given = TaskHarness.settings(
                Map.of("errors.tolerance", "all", "errors.deadletterqueue.topic.name", "letters"), settings);
        SinkTaskContext context = (SinkTaskContext) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {SinkTaskContext.class}, (proxy, method, none) -> reporter);
        settlement = new Settlement(
                onMalformed,
                DeadLetters.of(context, given),
                backlog,
                metrics,
                timers.thread(thrown -> settlement.failed(thrown)),
                () -> 5_000);
    }

    private Delivery delivery(String value, long heldBytes, long dueMicros) {
        SinkRecord record = new SinkRecord("books", 0, null, null, null, value.getBytes(UTF_8), nextOffset++);
        Delivery delivery = new Delivery(record, offsets.of("books", 0), Origin.of(record), 1, dueMicros);
        delivery.hold(heldBytes);
        backlog.enter(List.of(delivery));
        metrics.recordRead(delivery.ledger());
        return delivery;
    }

    private Delivery delivery() {
        return delivery("{}", 7, -1);
    }

    private Map<String, Long> counts() {
        Map<String, Long> counts = new HashMap<>();
        metrics.ledger().forEach((name, count) -> {
            if ((long) count > 0) {
                counts.put(name, (long) count);
            }
        });
        return counts;
    }

    private long committable() {
        return offsets.of("books", 0).committable();
    }

    /** A record of another task. */
    private static Delivery other(long heldBytes) {
        Offsets offsets = new Offsets(new SinkMetrics());
        offsets.open(List.of(BOOKS));
        SinkRecord record = new SinkRecord("books", 0, null, null, null, null, 0);
        Delivery delivery = new Delivery(record, offsets.of("books", 0), Origin.of(record), 1, -1);
        delivery.hold(heldBytes);
        return delivery;
    }

    /** There is room for as much as if nothing had ever been there. */
    private void assertNoRoomIsTaken() {
        Delivery most = other(MOST_BYTES - 1);
        backlog.enter(List.of(most));
        assertFalse(backlog.isFull());
        Delivery last = other(1);
        backlog.enter(List.of(last));
        assertTrue(backlog.isFull());
        backlog.leave(List.of(most, last));
    }

    private String failure() {
        assertTrue(settlement.hasFailed());
        return assertThrows(ConnectException.class, settlement::throwFailure).getMessage();
    }

    /** Records that got through are committable, counted with their age, if they have one, and take no room any more. */
    @Test
    void whatGotThroughIsCommittableAndCounted() throws Exception {
        List<Delivery> deliveries = List.of(
                delivery("{}", 503, 2_000), delivery("{}", 499, 9_000), delivery("{}", 3, -1), delivery("{}", 3, 0));
        assertTrue(backlog.isFull());
        deliveries.forEach(delivery -> delivery.setFate(Fate.INDEXED));
        settlement.completed(deliveries);
        assertEquals(4, committable());
        assertEquals(Map.of("RecordsRead", 4L, "RecordsIndexed", 4L), counts());
        assertNoRoomIsTaken();
        String histogram = (String) ((Supplier<?>) metrics.snapshot().get("RecordAgeHistogram")).get();
        Histogram ages = Histogram.decodeFromCompressedByteBuffer(
                ByteBuffer.wrap(Base64.getDecoder().decode(histogram)), 0);
        assertEquals(3, ages.getTotalCount());
        assertEquals(1, ages.getCountAtValue(0));
        assertEquals(1, ages.getCountAtValue(3_000));
        assertEquals(1, ages.getCountAtValue(5_000));
        assertFalse(settlement.hasFailed());
        settlement.throwFailure();
    }

    /** A record that is revoked is not committable and not counted as read, and takes no room any more. */
    @Test
    void whatIsRevokedIsNotCommittable() {
        settlement.revoked(delivery());
        assertEquals(0, committable());
        assertEquals(Map.of(), counts());
        assertEquals(1L, metrics.snapshot().get("RecordsRevoked"));
        assertNoRoomIsTaken();
    }

    /** A record is committable when its letter has arrived, not when it was sent, whichever arrives first. */
    @Test
    void aDeadLetterIsCommittableWhenItHasArrived() {
        settlement.rejected(delivery(), 400, ERROR);
        assertEquals(List.of(), letters, "on the thread that told of it");
        timers.advance(0);
        settlement.rejected(delivery("{", 7, -1), 400, ERROR);
        timers.advance(0);
        assertEquals(
                List.of(
                        "books-0@0: status 400 x_exception: why",
                        "books-0@1: status 400 x_exception: record value: got 1 bytes that are wrong from byte 1 on,"
                                + " expected one JSON object in UTF-8"),
                letters);
        arrivals.get(1).complete(null);
        timers.advance(50);
        assertEquals(Map.of("RecordsRead", 2L, "RecordsDeadLettered", 1L, "RecordsInFlight", 1L), counts());
        assertEquals(0, committable());
        arrivals.get(0).complete(null);
        timers.advance(50);
        assertEquals(Map.of("RecordsRead", 2L, "RecordsDeadLettered", 2L), counts());
        assertEquals(2, committable());
        assertNoRoomIsTaken();
        settlement.rejected(delivery(), 400, ERROR);
        timers.advance(0);
        arrivals.get(2).complete(null);
        timers.advance(50);
        assertEquals(3, committable(), "after all before had arrived");
    }

    /** A letter that does not arrive, or that nobody takes, fails the task; its record is not committable. */
    @Test
    void aLetterThatIsLostFailsTheTask() {
        settlement.rejected(delivery(), 400, ERROR);
        timers.advance(0);
        arrivals.get(0).completeExceptionally(new IllegalStateException("too large"));
        timers.advance(50);
        assertEquals("books-0@0: the dead-letter queue did not take the record", failure());
        reporter = (record, error) -> {
            throw new ConnectException("no tolerance");
        };
        settle(OnMalformedDocuments.REPORT);
        settlement.rejected(delivery(), 400, ERROR);
        timers.advance(0);
        assertEquals("books-0@1: the dead-letter queue refused the record", failure());
        assertEquals(0, committable());
    }

    /** Without a queue a bad document is dropped; only {@code warn} says so. */
    @Test
    void withoutAQueueBadDocumentsAreDropped() {
        try (CapturedLog log = new CapturedLog()) {
            settle(OnMalformedDocuments.WARN, "errors.tolerance", "none");
            settlement.rejected(delivery(), 400, ERROR);
            settle(OnMalformedDocuments.IGNORE, "errors.tolerance", "none");
            settlement.rejected(delivery(), 400, ERROR);
            assertEquals(1, log.linesWith("books-0@0: status 400 x_exception").size());
            assertEquals(0, log.linesWith("books-0@1").size());
            assertEquals(0, log.linesWith("why").size());
        }
        assertEquals(Map.of("RecordsRead", 2L, "RecordsDropped", 2L), counts());
        assertEquals(2, committable());
        assertNoRoomIsTaken();
        assertEquals(List.of(), letters);
    }

    /** With {@code fail} a bad document ends the task, which tells what failed first. */
    @Test
    void aBadDocumentMayEndTheTask() {
        settle(OnMalformedDocuments.FAIL);
        settlement.rejected(delivery(), 400, ERROR);
        settlement.failed(new IllegalStateException("later"));
        assertEquals(
                "books-0@0: status 400 x_exception; behavior.on.malformed.documents=fail stops the task here",
                failure());
        assertEquals(0, committable());
        assertEquals(List.of(), letters);
        settle(OnMalformedDocuments.FAIL);
        settlement.failed(new IllegalStateException("a bug"));
        assertEquals("java.lang.IllegalStateException: a bug", failure());
    }

    /** A reason is cut to 1,000 characters; where the worker logs it, what may quote the document is left out. */
    @Test
    void reasonsAreCutAndWithheldFromTheLog() {
        settlement.malformed(delivery(), "short", "x".repeat(1_000));
        settlement.malformed(delivery(), "short", "x".repeat(1_001));
        timers.advance(0);
        settle(OnMalformedDocuments.REPORT, "errors.log.enable", "true");
        settlement.malformed(delivery(), "short", "why");
        timers.advance(0);
        assertEquals(
                List.of("books-0@0: " + "x".repeat(1_000), "books-0@1: " + "x".repeat(1_000) + "…", "books-0@2: short"),
                letters);
    }
}
