package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.encode.MalformedRecordException;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.encode.RecordEncoder;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.offset.Offsets;
import io.sluice.connect.offset.Origin;
import io.sluice.connect.offset.PartitionOffsets;
import io.sluice.connect.time.ManualTimers;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkRecord;

/** A writer and all that is around it, played: time, the server, whoever is told of results. */
class WriterWorld {
    final ManualTimers timers = new ManualTimers();
    final HeldClient client = new HeldClient();
    final NotedResults book = new NotedResults();
    final SinkMetrics metrics = new SinkMetrics();
    final Offsets offsets = new Offsets(metrics);
    PartitionOffsets partition = opened(0);
    RecordEncoder encoder = encoder("insert");
    long documentsPerSecond;
    long bytesPerSecond;
    private long nextOffset;
    private final Map<Object, TreeSet<Long>> addedByKey = new HashMap<>();

    static RecordEncoder encoder(String writeMethod) {
        return encoder(writeMethod, "t");
    }

    static RecordEncoder encoder(String writeMethod, String index) {
        return new RecordEncoder(new SinkConfig(
                Map.of("connection.url", "http://localhost:9", "write.method", writeMethod, "index.name", index)));
    }

    /** @param more settings beside the URL and the index {@code t} */
    static RecordEncoder encoder(Map<String, String> more) {
        Map<String, String> settings = new HashMap<>(Map.of("connection.url", "http://localhost:9", "index.name", "t"));
        settings.putAll(more);
        return new RecordEncoder(new SinkConfig(settings));
    }

    SinkConfig settings(int batchSize, long bytes, int inFlight, boolean inOrder) {
        Map<String, String> settings = new HashMap<>();
        settings.put("connection.url", "http://localhost:9");
        settings.put("batch.size", Integer.toString(batchSize));
        settings.put("bulk.size.bytes", Long.toString(bytes));
        settings.put("linger.ms", "5");
        settings.put("max.in.flight.requests", Integer.toString(inFlight));
        settings.put("max.retries", "3");
        settings.put("retry.timeout.ms", "60000");
        settings.put("write.method", inOrder ? "upsert" : "insert");
        settings.put("max.documents.per.second", Long.toString(documentsPerSecond));
        settings.put("max.bytes.per.second", Long.toString(bytesPerSecond));
        return new SinkConfig(settings);
    }

    BulkWriter writer(int batchSize, long bytes, int inFlight, boolean inOrder) {
        SinkConfig settings = settings(batchSize, bytes, inFlight, inOrder);
        return new BulkWriter(settings, client, new Backoff(100, 1_000, () -> 1.0), timers, book, metrics);
    }

    Operation operation(String key) {
        return operation(key, "{}");
    }

    Operation operation(String key, String value) {
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

    PartitionOffsets opened(int number) {
        offsets.open(List.of(new TopicPartition("t", number)));
        return offsets.of("t", number);
    }

    static void add(BulkWriter writer, Operation operation) {
        writer.add(List.of(operation));
    }

    void add(BulkWriter writer, int operations) {
        for (int i = 0; i < operations; i++) {
            add(writer, operation("k" + nextOffset));
        }
    }

    /** Adds an operation on a key that no other one has. */
    void add(BulkWriter writer, String value) {
        add(writer, operation("k" + nextOffset, value));
    }

    /** A writer of its own sends one request of three operations. */
    void sendThree() {
        add(writer(3, 1 << 20, 5, false), 3);
    }

    /** The offsets of the records before this one that have its key. */
    Set<Long> addedBefore(Operation operation) {
        return addedByKey.get(operation.delivery().record().key()).headSet(operation.version());
    }

    void losePartition(BulkWriter writer, int number) {
        offsets.close(List.of(new TopicPartition("t", number)));
        writer.revoke();
    }

    List<Integer> sizesSent() {
        return client.sent.stream().map(Bulk::size).collect(Collectors.toList());
    }

    Object attribute(String name) {
        return metrics.snapshot().get(name);
    }
}
