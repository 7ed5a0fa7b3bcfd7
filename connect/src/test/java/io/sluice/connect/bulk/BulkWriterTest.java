package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.encode.MalformedRecordException;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.encode.RecordEncoder;
import io.sluice.connect.metrics.Fate;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.offset.Offsets;
import io.sluice.connect.offset.Origin;
import io.sluice.connect.offset.PartitionOffsets;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.ConnectException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;
import org.apache.http.nio.ContentEncoder;
import org.apache.http.nio.entity.HttpAsyncContentProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;

class BulkWriterTest {
    private final ManualTimers timers = new ManualTimers();
    private final HeldClient client = new HeldClient();
    private final Book book = new Book();
    private final SinkMetrics metrics = new SinkMetrics();
    private final Offsets offsets = new Offsets(metrics);
    private PartitionOffsets partition = offsets.of("t", 0);
    private RecordEncoder encoder = encoder("insert");
    private boolean adaptive;
    private long documentsPerSecond;
    private long bytesPerSecond;
    private long nextOffset;
    private final Map<Object, TreeSet<Long>> addedByKey = new HashMap<>();

    private static RecordEncoder encoder(String writeMethod) {
        return new RecordEncoder(
                new SinkConfig(Map.of("connection.url", "http://localhost:9", "write.method", writeMethod)));
    }

    private BulkWriter writer(int batchSize, long bytes, int inFlight, boolean inOrder) {
        BulkSettings settings = new BulkSettings(
                batchSize, bytes, 5, inFlight, adaptive, 3, 60_000, inOrder, documentsPerSecond, bytesPerSecond);
        return new BulkWriter(settings, client, new Backoff(100, 1_000, () -> 1.0), timers, book, metrics);
    }

    private Operation operation(String key) {
        return operation(key, "{}");
    }

    private Operation operation(String key, String value) {
        SinkRecord record =
                new SinkRecord("t", 0, null, key, null, value == null ? null : value.getBytes(UTF_8), nextOffset);
        addedByKey.computeIfAbsent(key, first -> new TreeSet<>()).add(nextOffset);
        Origin origin = new Origin("t", 0, nextOffset++);
        try {
            return encoder.encode(new Delivery(record, partition, origin, timers.nanoTime(), -1));
        } catch (MalformedRecordException malformed) {
            throw new AssertionError(malformed);
        }
    }

    private void add(BulkWriter writer, int operations) {
        for (int i = 0; i < operations; i++) {
            writer.add(List.of(operation("k" + nextOffset)));
        }
    }

    private List<Integer> sizesSent() {
        return client.sent.stream().map(Bulk::size).collect(Collectors.toList());
    }

    /** Requests are cut at the count; what remains goes when the linger time is over. */
    @Test
    void requestsAreCutAtTheCount() {
        BulkWriter writer = writer(7, 1 << 20, 5, false);
        add(writer, 17);
        assertEquals(List.of(7, 7), sizesSent());
        timers.advance(5);
        assertEquals(List.of(7, 7, 3), sizesSent());
    }

    /** Requests are cut before the bytes are exceeded; a document larger than that goes alone. */
    @Test
    void requestsAreCutAtTheBytes() {
        BulkWriter writer = writer(1_000, 1_009, 5, false);
        String large = "{\"a\":\"" + "x".repeat(1_500) + "\"}";
        for (String value : new String[] {"{}", "{}", large, "{}"}) {
            writer.add(List.of(operation("k" + nextOffset, value)));
        }
        timers.advance(5);
        assertEquals(List.of(2, 1, 1), sizesSent());
    }

    /** Exactly as many requests as allowed are under way; a finished one makes way for the next. */
    @Test
    void exactlyNRequestsAreUnderWay() {
        BulkWriter writer = writer(3, 1 << 20, 5, false);
        add(writer, 24);
        assertEquals(5, client.sent.size());
        client.succeed(0);
        assertEquals(6, client.sent.size());
    }

    /** While a request that is not full is under way, the next ones wait until they are full. */
    @Test
    void onlyOneRequestThatIsNotFullIsUnderWay() {
        BulkWriter writer = writer(7, 1 << 20, 5, false);
        add(writer, 2);
        timers.advance(5);
        add(writer, 3);
        timers.advance(50);
        assertEquals(List.of(2), sizesSent());
        client.succeed(0);
        assertEquals(List.of(2, 3), sizesSent());
    }

    /** A flush sends what is there at once. */
    @Test
    void aFlushDoesNotLinger() {
        BulkWriter writer = writer(7, 1 << 20, 5, false);
        add(writer, 2);
        writer.flush();
        assertEquals(List.of(2), sizesSent());
    }

    /** Only the items that failed go again, after the backoff, under the same permit. */
    @Test
    void onlyFailedItemsGoAgain() {
        BulkWriter writer = writer(5, 1 << 20, 1, false);
        add(writer, 10);
        client.answer(0, item -> item == 1 || item == 3 ? 429 : 201);
        timers.advance(99);
        assertEquals(1, client.sent.size());
        timers.advance(1);
        assertEquals(List.of("1", "3"), client.offsets(1));
        client.succeed(1);
        assertEquals(List.of("5", "6", "7", "8", "9"), client.offsets(2));
        assertEquals(2, ((Number) metrics.snapshot().get("ItemRetries")).intValue());
    }

    /** Without an answer the whole request goes again, until nothing has succeeded for the time bound. */
    @Test
    void anUnansweredRequestIsRepeatedWithinTheTimeBound() {
        BulkWriter writer = writer(3, 1 << 20, 5, false);
        add(writer, 3);
        int attempt = 0;
        while (book.failure == null) {
            client.fail(attempt++, new ConnectException("Connection refused"));
            timers.advance(1_000);
        }
        assertEquals(60_000, timers.nowMs(), 1_000);
        assertEquals(
                "bulk request to t: no answer: ConnectException: Connection refused (attempt 61, first record"
                        + " concerned t-0@0)",
                book.failure.getMessage());
        assertTrue(book.failure.getCause() instanceof ConnectException);
    }

    /** A 503 for the whole request is survived for as long as a server needs to come back. */
    @Test
    void aServerThatComesBackIsAwaited() {
        BulkWriter writer = writer(3, 1 << 20, 5, false);
        add(writer, 3);
        int attempt = 0;
        for (; timers.nowMs() < 45_000; attempt++) {
            client.refuse(attempt, 503);
            timers.advance(1_000);
        }
        client.succeed(attempt);
        assertNull(book.failure);
        assertEquals(3, book.decided.size());
    }

    /** What waiting does not cure is tried max.retries times more, then ends the work. */
    @Test
    void internalErrorsAreRepeatedACountedNumberOfTimes() {
        BulkWriter writer = writer(3, 1 << 20, 5, false);
        add(writer, 3);
        for (int attempt = 0; attempt < 4; attempt++) {
            assertNull(book.failure);
            client.refuse(attempt, 500);
            timers.advance(1_000);
        }
        assertEquals(
                "bulk request to t: status 500 some_exception: some reason (attempt 4, first record concerned t-0@0)",
                book.failure.getMessage());
    }

    /** A refusal that would last for ever ends the work at once. */
    @Test
    void aBadRequestEndsTheWork() {
        BulkWriter writer = writer(3, 1 << 20, 5, false);
        add(writer, 3);
        client.refuse(0, 400);
        assertEquals(
                "bulk request to t: status 400 some_exception: some reason (attempt 1, first record concerned t-0@0)",
                book.failure.getMessage());
    }

    /** A request that is too large goes again in halves; a single document that is too large is rejected. */
    @Test
    void aRequestThatIsTooLargeIsSplit() {
        BulkWriter writer = writer(5, 1 << 20, 1, false);
        add(writer, 5);
        client.refuse(0, 413);
        assertEquals(List.of("0", "1", "2"), client.offsets(1));
        client.refuse(1, 413);
        assertEquals(List.of("0", "1"), client.offsets(2));
        client.refuse(2, 413);
        client.refuse(3, 413);
        assertEquals(List.of("0 413 some_exception"), book.rejected);
        while (client.sent.size() > client.answered) {
            client.succeed(client.answered);
        }
        assertEquals(Set.of(1L, 2L, 3L, 4L), book.decided.keySet());
    }

    /** Where versions cannot keep order, an operation waits until the earlier ones on its id are decided. */
    @Test
    void operationsOnOneIdAreNeverUnderWayTogether() {
        encoder = encoder("upsert");
        BulkWriter writer = writer(2, 1 << 20, 5, true);
        for (String key : new String[] {"a", "b", "a", "c", "a", "d"}) {
            writer.add(List.of(operation(key)));
        }
        assertEquals(List.of("0", "1"), client.offsets(0));
        assertEquals(List.of("3", "5"), client.offsets(1));
        client.answer(0, item -> item == 0 ? 429 : 200);
        timers.advance(100);
        assertEquals(List.of("0"), client.offsets(2));
        client.succeed(2);
        timers.advance(5);
        assertEquals(List.of("2"), client.offsets(3));
    }

    /** A delete waits until what came before it on its document is decided: repeated later, that could undo it. */
    @Test
    void aDeleteWaitsForTheEarlierOperationsOnItsDocument() {
        BulkWriter writer = writer(2, 1 << 20, 5, false);
        writer.add(List.of(operation("a")));
        writer.add(List.of(operation("a")));
        writer.add(List.of(operation("a", null)));
        writer.add(List.of(operation("b")));
        writer.add(List.of(operation("b", null)));
        writer.add(List.of(operation("c")));
        assertEquals(List.of("0", "1"), client.offsets(0));
        assertEquals(List.of("3", "5"), client.offsets(1));
        client.answer(0, item -> item == 0 ? 429 : 200);
        timers.advance(100);
        assertEquals(List.of("0"), client.offsets(2));
        client.succeed(2);
        timers.advance(5);
        assertEquals(List.of("2"), client.offsets(3));
        assertEquals(4, client.sent.size());
    }

    /** What follows a waiting delete goes with it, up to the next delete. */
    @Test
    void whatFollowsAWaitingDeleteGoesWithIt() {
        BulkWriter writer = writer(4, 1 << 20, 5, false);
        for (String value : new String[] {"{}", null, "{}", "{}", null, "{}"}) {
            writer.add(List.of(operation("a", value)));
        }
        timers.advance(5);
        assertEquals(List.of("0"), client.offsets(0));
        client.succeed(0);
        timers.advance(5);
        assertEquals(List.of("1", "2", "3"), client.offsets(1));
        client.succeed(1);
        timers.advance(5);
        assertEquals(List.of("4", "5"), client.offsets(2));
    }

    /** A waiting delete whose partition is lost is given back; one of a partition that stays still has its turn. */
    @Test
    void waitingDeletesAreGivenBackOrSent() {
        BulkWriter writer = writer(1, 1 << 20, 5, false);
        writer.add(List.of(operation("a")));
        writer.add(List.of(operation("a", null)));
        PartitionOffsets lost = partition;
        partition = offsets.of("t", 1);
        writer.add(List.of(operation("b")));
        writer.add(List.of(operation("b", null)));
        partition = lost;
        loosePartition(writer, 0);
        assertEquals(List.of(1L), book.givenBack);
        client.succeed(0);
        client.succeed(1);
        assertEquals(List.of("3"), client.offsets(2));
        assertEquals(3, client.sent.size());
    }

    /** The body holds the lines of its operations, whatever the chunks in which the connection takes it. */
    @Test
    void theBodyIsTheSameWhateverTheChunks() throws IOException {
        BulkWriter writer = writer(11, 1 << 20, 5, false);
        StringBuilder expected = new StringBuilder();
        for (int i = 0; i < 11; i++) {
            boolean isDelete = i == 7;
            String value = isDelete ? null : "{\"a\":\"" + "x".repeat(i * 2_003) + "\"}";
            expected.append(isDelete ? "{\"delete" : "{\"index")
                    .append("\":{\"_id\":\"k\\\"")
                    .append(i)
                    .append("\",\"version_type\":\"external\",\"version\":")
                    .append(i)
                    .append("}}\n")
                    .append(isDelete ? "" : value + "\n");
            writer.add(List.of(operation("k\"" + i, value)));
        }
        Bulk bulk = client.sent.get(0);
        BulkBody body = new BulkBody(bulk.operations(), bulk.bodyBytes());
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        body.writeTo(whole);
        assertEquals(expected.toString(), whole.toString(UTF_8));
        assertEquals(whole.size(), body.getContentLength());
        for (int chunk : new int[] {1, 2, 61, 4_093, 65_536, 1_000_003}) {
            ChunkEncoder encoder = new ChunkEncoder(chunk);
            while (!encoder.isCompleted()) {
                body.produceContent(encoder, null);
            }
            body.close();
            assertEquals(expected.toString(), encoder.taken.toString(UTF_8));
        }
    }

    /** Requests are spread so that neither documents nor bytes of a second exceed their cap; the first goes at once. */
    @Test
    void requestsKeepToThePace() {
        documentsPerSecond = 100;
        BulkWriter writer = writer(10, 1 << 20, 50, false);
        add(writer, 500);
        assertEquals(1, client.sent.size());
        timers.advance(1_000);
        assertEquals(10, client.sent.size(), 1);
        timers.advance(2_000);
        assertEquals(30, client.sent.size(), 1);
        documentsPerSecond = 0;
        bytesPerSecond = 1_000;
        int before = client.sent.size();
        writer = writer(1, 1 << 20, 50, false);
        for (int i = 0; i < 20; i++) {
            writer.add(List.of(operation("k" + i, "{\"a\":\"" + "x".repeat(430) + "\"}")));
        }
        timers.advance(3_000);
        long bytes = client.sent.subList(before + 1, client.sent.size()).stream()
                .filter(bulk -> bulk.size() == 1)
                .mapToLong(Bulk::bodyBytes)
                .sum();
        assertTrue(bytes > 2_000 && bytes <= 3_600, "bytes in 3 s at 1,000/s: " + bytes);
    }

    private void loosePartition(BulkWriter writer, int number) {
        offsets.close(List.of(new TopicPartition("t", number)));
        writer.giveBack();
    }

    /** What is waiting in any place when its partition is lost is given back, and nothing of it is sent any more. */
    @Test
    void whatALostPartitionLeftWaitingIsGivenBack() {
        encoder = encoder("upsert");
        BulkWriter writer = writer(2, 1 << 20, 2, true);
        for (String key : new String[] {"a", "b", "c", "d", "a", "e", "f", "g"}) {
            writer.add(List.of(operation(key)));
        }
        client.refuse(0, 503);
        loosePartition(writer, 0);
        assertEquals(List.of(4L, 5L, 6L, 7L), sorted(book.givenBack));
        client.answer(1, item -> item == 0 ? 200 : 429);
        timers.advance(60_000);
        assertEquals(List.of(0L, 1L, 3L, 4L, 5L, 6L, 7L), sorted(book.givenBack));
        assertEquals(Set.of(2L), book.decided.keySet());
        assertEquals(2, client.sent.size());
        assertNull(book.failure);
    }

    /** A partition that stays is served on, in order, when another one of its requests' is lost. */
    @Test
    void aPartitionThatStaysIsServedOn() {
        encoder = encoder("upsert");
        BulkWriter writer = writer(2, 1 << 20, 1, true);
        writer.add(List.of(operation("a")));
        PartitionOffsets lost = partition;
        partition = offsets.of("t", 1);
        writer.add(List.of(operation("b")));
        writer.add(List.of(operation("a")));
        partition = lost;
        writer.add(List.of(operation("a")));
        client.refuse(0, 503);
        loosePartition(writer, 0);
        timers.advance(200);
        assertEquals(List.of("1"), client.offsets(1));
        assertEquals(List.of(0L, 3L), sorted(book.givenBack));
        client.succeed(1);
        timers.advance(5);
        assertEquals(List.of("2"), client.offsets(2));
        client.succeed(2);
        assertEquals(Set.of(1L, 2L), book.decided.keySet());
    }

    private static List<Long> sorted(List<Long> numbers) {
        return numbers.stream().sorted().collect(Collectors.toList());
    }

    /** A compressed body is gzip of the same lines, whatever the chunks and however often it is begun. */
    @Test
    void aCompressedBodyHoldsTheSameLines() throws IOException {
        BulkWriter writer = writer(7, 1 << 20, 5, false);
        Random random = new Random(7);
        for (int i = 0; i < 7; i++) {
            StringBuilder value = new StringBuilder("{\"a\":\"");
            random.ints(i * 10_007, 'a', 'z' + 1).forEach(c -> value.append((char) c));
            writer.add(List.of(operation("k" + i, value.append("\"}").toString())));
        }
        Bulk bulk = client.sent.get(0);
        ByteArrayOutputStream plain = new ByteArrayOutputStream();
        new BulkBody(bulk.operations(), bulk.bodyBytes()).writeTo(plain);
        CompressedBulkBody body = new CompressedBulkBody(bulk.operations());
        body.produceContent(new ChunkEncoder(997), null);
        body.close();
        for (int chunk : new int[] {1, 61, 65_536, 1_000_003}) {
            ChunkEncoder encoder = new ChunkEncoder(chunk);
            while (!encoder.isCompleted()) {
                body.produceContent(encoder, null);
            }
            body.close();
            byte[] unpacked = new GZIPInputStream(new ByteArrayInputStream(encoder.taken.toByteArray())).readAllBytes();
            assertEquals(plain.toString(UTF_8), new String(unpacked, UTF_8));
        }
    }

    /** Writing bodies of 1 MB documents, plain or compressed, takes no more heap than the start line says. */
    @Test
    void bodiesOfLargeDocumentsTakeNoHeapOfTheirOwn() throws IOException {
        BulkWriter writer = writer(16, 1 << 30, 5, false);
        String large = "{\"a\":\"" + "x".repeat(1_000_003) + "\"}";
        for (int i = 0; i < 16; i++) {
            writer.add(List.of(operation("k" + i, large)));
        }
        Bulk bulk = client.sent.get(0);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (boolean compressed : new boolean[] {false, true, false, true}) {
            NullEncoder encoder = new NullEncoder();
            HttpAsyncContentProducer body = compressed
                    ? new CompressedBulkBody(bulk.operations())
                    : new BulkBody(bulk.operations(), bulk.bodyBytes());
            long before = threads.getCurrentThreadAllocatedBytes();
            while (!encoder.isCompleted()) {
                body.produceContent(encoder, null);
            }
            body.close();
            long allocated = threads.getCurrentThreadAllocatedBytes() - before;
            long stated = RestBulkClient.writingBytes(compressed, 1);
            assertTrue(allocated <= stated, "compressed " + compressed + ": " + allocated + " bytes");
        }
    }

    /** Takes everything, keeps nothing. */
    private static final class NullEncoder implements ContentEncoder {
        private boolean completed;

        @Override
        public int write(ByteBuffer source) {
            int count = source.remaining();
            source.position(source.limit());
            return count;
        }

        @Override
        public void complete() {
            completed = true;
        }

        @Override
        public boolean isCompleted() {
            return completed;
        }
    }

    private Object attribute(String name) {
        return metrics.snapshot().get(name);
    }

    /** The last error is told while something that failed is undecided, and no longer. */
    @Test
    void theLastErrorEndsWithTheFailure() {
        BulkWriter writer = writer(3, 1 << 20, 5, false);
        add(writer, 6);
        client.refuse(0, 503);
        client.answer(1, item -> item == 0 ? 429 : 201);
        assertEquals("status 429 some_exception", attribute("LastError"));
        timers.advance(100);
        client.succeed(2);
        assertEquals("status 429 some_exception", attribute("LastError"));
        client.succeed(3);
        assertEquals("", attribute("LastError"));
    }

    /** Adaptive requests have the size that is wanted when they are sent, whenever their operations came. */
    @Test
    void waitingOperationsFollowTheLimits() {
        adaptive = true;
        BulkWriter writer = writer(101, 1 << 20, 1, false);
        add(writer, 1_009);
        assertEquals(List.of(101), sizesSent());
        client.answer(0, item -> item == 0 ? 429 : 201);
        assertEquals(51L, attribute("CurrentBulkDocuments"));
        timers.advance(100);
        client.succeed(1);
        assertEquals(67L, attribute("CurrentBulkDocuments"));
        assertEquals(67, client.offsets(2).size());
        assertEquals(1L, attribute("CurrentConcurrency"));
    }

    /** A large request that is refused as a whole again and again is halved; without adaptation it is not. */
    @Test
    void aRequestThatNeverGetsInIsHalved() {
        for (boolean isAdaptive : new boolean[] {false, true}) {
            BulkWriterTest world = new BulkWriterTest();
            world.adaptive = isAdaptive;
            BulkWriter writer = world.writer(4, 1 << 20, 1, false);
            for (int i = 0; i < 4; i++) {
                writer.add(List.of(world.operation("k" + i, "{\"a\":\"" + "x".repeat(100_003) + "\"}")));
            }
            for (int attempt = 0; attempt < 3; attempt++) {
                world.client.refuse(attempt, 429);
                world.timers.advance(1_000);
            }
            assertEquals(isAdaptive ? List.of("0", "1") : List.of("0", "1", "2", "3"), world.client.offsets(3));
            world.client.succeed(3);
            assertEquals(isAdaptive ? 5 : 4, world.client.sent.size());
        }
    }

    private void refuseOvertakingDeletes(Bulk bulk) {
        for (Operation operation : bulk.operations()) {
            if (operation.kind() == Operation.Kind.DELETE) {
                Set<Long> before = new HashSet<>(
                        addedByKey.get(operation.delivery().record().key()).headSet(operation.version()));
                before.removeAll(book.decided.keySet());
                assertEquals(Set.of(), before, "sent before the operations that it follows");
            }
        }
    }

    /**
     * Over random failures each record is decided once, no delete is sent before what it follows is decided, and never
     * more than N requests are under way.
     */
    @Test
    void randomFailuresDecideEachRecordOnce() {
        for (int seed = 0; seed < 31; seed++) {
            Random random = new Random(seed);
            BulkWriterTest world = new BulkWriterTest();
            boolean inOrder = seed % 2 == 0;
            world.adaptive = seed % 3 == 0;
            world.encoder = encoder(inOrder ? "upsert" : "insert");
            world.client.onSend = world::refuseOvertakingDeletes;
            BulkWriter writer = world.writer(7, 1 << 20, 3, inOrder);
            Map<Integer, Integer> lastByKey = new TreeMap<>();
            for (int i = 0; i < 997; i++) {
                int key = random.nextInt(53);
                lastByKey.put(key, i);
                writer.add(List.of(world.operation("k" + key, random.nextInt(3) == 0 ? null : "{}")));
                world.client.answerRandomly(random);
                world.timers.advance(random.nextInt(3));
                assertTrue(world.client.sent.size() - world.client.answered <= 3);
            }
            writer.flush();
            while (world.book.decided.size() < 997) {
                world.client.answerRandomly(random);
                world.timers.advance(100);
                assertNull(world.book.failure);
            }
            assertEquals(997, world.partition.committable());
            if (inOrder) {
                world.book.assertOrderPerKey(lastByKey);
            }
        }
    }

    /** Keeps requests until a test answers them. */
    private static final class HeldClient implements BulkClient {
        private final List<Bulk> sent = new ArrayList<>();
        private final List<List<Operation>> operations = new ArrayList<>();
        private final ArrayDeque<Integer> open = new ArrayDeque<>();
        private Listener listener;
        private int answered;
        private Consumer<Bulk> onSend = bulk -> {};

        @Override
        public void send(Bulk bulk, Listener whoAsks) {
            onSend.accept(bulk);
            listener = whoAsks;
            open.add(sent.size());
            sent.add(bulk);
            operations.add(List.copyOf(bulk.operations()));
        }

        List<String> offsets(int request) {
            return operations.get(request).stream()
                    .map(operation -> Long.toString(operation.version()))
                    .collect(Collectors.toList());
        }

        private void close(int request) {
            assertTrue(open.remove(request), "answered twice");
            answered++;
        }

        void succeed(int request) {
            answer(request, item -> 201);
        }

        void answer(int request, IntFunction<Integer> statusOfItem) {
            close(request);
            listener.answered(
                    sent.get(request), answerOf(operations.get(request).size(), statusOfItem));
        }

        void refuse(int request, int status) {
            close(request);
            listener.refused(sent.get(request), status, new ItemError("some_exception", "some reason"));
        }

        void fail(int request, Exception cause) {
            close(request);
            listener.unanswered(sent.get(request), cause);
        }

        void answerRandomly(Random random) {
            if (open.isEmpty() || random.nextInt(3) == 0) {
                return;
            }
            int request = List.copyOf(open).get(random.nextInt(open.size()));
            switch (random.nextInt(5)) {
                case 0 -> refuse(request, 503);
                case 1 -> fail(request, new IOException("reset"));
                default -> answer(request, item -> random.nextInt(4) == 0 ? 429 : 200);
            }
        }

        private static BulkAnswer answerOf(int items, IntFunction<Integer> statusOfItem) {
            String json = IntStream.range(0, items)
                    .mapToObj(item -> itemOf(statusOfItem.apply(item)))
                    .collect(Collectors.joining(",", "{\"errors\":true,\"items\":[", "]}"));
            try {
                return BulkAnswer.read(new ByteArrayInputStream(json.getBytes(UTF_8)), items);
            } catch (IOException unreadable) {
                throw new AssertionError(unreadable);
            }
        }

        private static String itemOf(int status) {
            String error = status < 300 ? "" : ",\"error\":{\"type\":\"some_exception\",\"reason\":\"some reason\"}";
            return "{\"index\":{\"status\":" + status + error + "}}";
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    }

    /** Notes every decision, refuses a second one on the same record. */
    private static final class Book implements Decisions {
        private final Map<Long, Fate> decided = new HashMap<>();
        private final List<String> rejected = new ArrayList<>();
        private final List<Long> givenBack = new ArrayList<>();
        private final Map<Object, List<Long>> orderByKey = new HashMap<>();
        private final Set<Object> keys = new HashSet<>();
        private org.apache.kafka.connect.errors.ConnectException failure;

        @Override
        public void decided(List<Delivery> deliveries) {
            deliveries.forEach(this::decidedOne);
        }

        private void decidedOne(Delivery delivery) {
            assertNull(decided.put(delivery.origin().offset(), delivery.fate()), "decided twice");
            Object key = delivery.record().key();
            keys.add(key);
            orderByKey
                    .computeIfAbsent(key, first -> new ArrayList<>())
                    .add(delivery.origin().offset());
            delivery.decided();
        }

        void assertOrderPerKey(Map<Integer, Integer> lastByKey) {
            assertEquals(lastByKey.size(), keys.size());
            orderByKey
                    .values()
                    .forEach(offsets -> assertEquals(offsets.stream().sorted().collect(Collectors.toList()), offsets));
        }

        @Override
        public void rejected(Delivery delivery, int status, ItemError error) {
            rejected.add(delivery.origin().offset() + " " + status + " " + error.type());
        }

        @Override
        public void givenBack(Delivery delivery) {
            givenBack.add(delivery.origin().offset());
        }

        @Override
        public void failed(org.apache.kafka.connect.errors.ConnectException cause) {
            failure = cause;
        }
    }
}
