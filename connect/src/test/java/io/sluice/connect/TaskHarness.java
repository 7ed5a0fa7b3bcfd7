package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.metrics.Fate;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTaskContext;

/** A started task with the worker's side of it played: a partition, a dead-letter queue, polls. */
final class TaskHarness implements AutoCloseable, SinkTaskContext {
    static final TopicPartition PARTITION = new TopicPartition("books", 0);

    private static final Pattern SECRET = Pattern.compile("password|api\\.key|headers$");
    private static final Logger WORKER = Logger.getLogger("worker");

    final ElasticsearchSinkTask task = new ElasticsearchSinkTask();
    final List<String> deadLetters = new ArrayList<>();
    final Set<TopicPartition> paused = new HashSet<>();
    private Set<TopicPartition> assignment = Set.of(PARTITION);
    private final Map<String, String> settings = new HashMap<>();
    volatile Runnable beforeReport = () -> {};
    volatile String reportedBy = "";
    private final Metrics workerMetrics = new Metrics();
    private long nextOffset;

    TaskHarness(String url, Map<String, String> more) {
        settings.put("name", "harness");
        settings.put("connection.url", url);
        settings.put("behavior.on.malformed.documents", "report");
        settings.put("behavior.on.null.values", "delete");
        settings.put("retry.backoff.ms", "3");
        settings.put("retry.backoff.max.ms", "47");
        settings.put("flush.timeout.ms", "20011");
        settings.putAll(more);
        settings.forEach((key, value) -> {
            if (SECRET.matcher(key).find()) {
                LogSafety.keep(value);
            }
        });
        task.initialize(this);
        task.start(settings);
        task.open(List.of(PARTITION));
    }

    /** Settings with more laid over them, which stand as key, value, key, value. */
    static Map<String, String> settings(Map<String, String> settings, String... more) {
        Map<String, String> all = new HashMap<>(settings);
        for (int i = 0; i < more.length; i += 2) {
            all.put(more[i], more[i + 1]);
        }
        return all;
    }

    /** The next record of the partition; something that no log line may hold stands in its document. */
    SinkRecord record(String key, String value) {
        return new SinkRecord(
                PARTITION.topic(),
                PARTITION.partition(),
                Schema.OPTIONAL_BYTES_SCHEMA,
                key == null ? null : key.getBytes(UTF_8),
                Schema.OPTIONAL_BYTES_SCHEMA,
                value == null ? null : marked(value).getBytes(UTF_8),
                nextOffset++);
    }

    /** An object gets one more member, at its end; what is none gets text behind it. */
    private static String marked(String value) {
        if (!value.startsWith("{") || !value.endsWith("}")) {
            return value + LogSafety.DOCUMENT;
        }
        String comma = value.length() == 2 ? "" : ",";
        return value.substring(0, value.length() - 1) + comma + "\"m\":\"" + LogSafety.DOCUMENT + "\"}";
    }

    /** Lets the next record have this offset. */
    void seek(long offset) {
        nextOffset = offset;
    }

    /** As a worker does: a failure of the task is logged. */
    void put(Collection<SinkRecord> records) {
        try {
            task.put(records);
        } catch (ConnectException failure) {
            WORKER.log(Level.SEVERE, "task failed", failure);
            throw failure;
        }
    }

    /** Polls without records, as a worker does, until the ledger has nothing in flight. */
    void putUntilDecided() throws InterruptedException {
        putUntilInFlight(0);
    }

    void putUntilInFlight(long records) throws InterruptedException {
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (attribute("RecordsInFlight") > records) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("undecided after 60 s: " + attribute("RecordsInFlight"));
            }
            put(List.of());
            Thread.sleep(2);
        }
    }

    /** Waits until no request is on the wire. */
    void awaitAnswers() throws InterruptedException {
        while (attribute("BulkRequestsInFlight") > 0) {
            Thread.sleep(1);
        }
    }

    long committable() {
        Map<TopicPartition, OffsetAndMetadata> consumed = Map.of(PARTITION, new OffsetAndMetadata(nextOffset));
        return task.preCommit(consumed).get(PARTITION).offset();
    }

    long attribute(String name) {
        return (long) read(name);
    }

    String text(String name) {
        return (String) read(name);
    }

    private static Object read(String name) {
        try {
            return ManagementFactory.getPlatformMBeanServer()
                    .getAttribute(
                            new ObjectName("sluice.connect:type=sink-task-metrics,connector=harness,task=0"), name);
        } catch (JMException error) {
            throw new AssertionError(name, error);
        }
    }

    /** Records by what became of them, those without any left out. */
    Map<String, Long> fates() {
        Map<String, Long> fates = new HashMap<>();
        for (String fate :
                new String[] {"Indexed", "Updated", "Deleted", "AlreadyThere", "Stale", "DeadLettered", "Dropped"}) {
            long records = attribute("Records" + fate);
            if (records > 0) {
                fates.put(fate, records);
            }
        }
        assert fates.size() <= Fate.values().length;
        return fates;
    }

    @Override
    public void close() {
        task.close(List.of(PARTITION));
        task.stop();
        workerMetrics.close();
    }

    @Override
    public ErrantRecordReporter errantRecordReporter() {
        return (record, error) -> {
            reportedBy = Thread.currentThread().getName();
            beforeReport.run();
            synchronized (deadLetters) {
                deadLetters.add(error.getMessage());
            }
            return CompletableFuture.completedFuture(null);
        };
    }

    @Override
    public Map<String, String> configs() {
        return settings;
    }

    @Override
    public void offset(Map<TopicPartition, Long> offsets) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void offset(TopicPartition partition, long offset) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void timeout(long timeoutMs) {
        // Polls here never wait.
    }

    @Override
    public Set<TopicPartition> assignment() {
        return assignment;
    }

    /** Takes the partition away; polls go on while the group finds out who gets it. */
    void revoke() {
        task.close(List.of(PARTITION));
        assignment = Set.of();
    }

    /** Assigns the partition again, paused as it was, as a worker does. */
    void assignAgain() {
        assignment = Set.of(PARTITION);
        task.open(List.of(PARTITION));
    }

    @Override
    public void pause(TopicPartition... partitions) {
        paused.addAll(List.of(partitions));
    }

    @Override
    public void resume(TopicPartition... partitions) {
        List.of(partitions).forEach(paused::remove);
    }

    @Override
    public PluginMetrics pluginMetrics() {
        return new PluginMetricsImpl(workerMetrics, Map.of());
    }

    @Override
    public void requestCommit() {
        throw new UnsupportedOperationException();
    }
}
