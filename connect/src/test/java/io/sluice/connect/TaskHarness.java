package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.joining;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.sluice.connect.metrics.Fate;
import io.sluice.connect.time.TaskTimers;
import io.sluice.connect.time.Timers;
import java.lang.management.ManagementFactory;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.runtime.SinkTaskWorker;
import org.apache.kafka.connect.runtime.errors.ProcessingContext;
import org.apache.kafka.connect.sink.SinkRecord;

/**
 * A task on a thread of Connect's own worker, one partition or several of a broker that is played, and a dead-letter queue.
 * The worker converts, polls, commits and closes as it always does; tests only write records and look.
 */
final class TaskHarness implements AutoCloseable {
    static final TopicPartition PARTITION = new TopicPartition("books", 0);

    private static final List<String> FATES = List.of(
            "Indexed",
            "Updated",
            "Deleted",
            "AlreadyThere",
            "Stale",
            "Redirected",
            "DroppedByPipeline",
            "DeadLettered",
            "Dropped");
    private static final Pattern SECRET = Pattern.compile("password|api\\.key|headers$");
    private static final long COMMIT_INTERVAL_MS = 50;
    private static final int RECORDS_PER_POLL = 10_000;
    private static final long LONGEST_WAIT_NANOS = 60_000_000_000L;

    /** What was reported, in order. */
    final Set<String> deadLetters = Collections.synchronizedSet(new LinkedHashSet<>());

    /** How often something was. */
    final AtomicInteger reports = new AtomicInteger();

    /** Offsets of the records that were. */
    final Set<Long> reportedOffsets = Collections.synchronizedSet(new LinkedHashSet<>());

    volatile Runnable beforeReport = () -> {};
    volatile String reportedBy = "";
    volatile boolean refusesLetters;
    final AtomicInteger lettersThatArriveAtOnce = new AtomicInteger();

    private final Timers timers = new TaskTimers("harness", failure -> {});
    private final String connector;
    private final PlayedBroker broker;
    private final PlayedConsumer consumer;
    private final AtomicInteger commits = new AtomicInteger();
    private final SinkTaskWorker worker;
    private final Thread thread;
    private final Map<TopicPartition, Long> nextOffsets = new HashMap<>();

    TaskHarness(String url, Map<String, String> more) {
        this(new PlayedBroker(), url, more);
    }

    /** A task that owns these partitions. */
    TaskHarness(List<TopicPartition> partitions, String url, Map<String, String> more) {
        this(new PlayedBroker(), partitions, url, more);
    }

    /** A task that reads on where the broker holds what earlier ones committed. */
    TaskHarness(PlayedBroker broker, String url, Map<String, String> more) {
        this(broker, List.of(PARTITION), url, more);
    }

    private TaskHarness(PlayedBroker broker, List<TopicPartition> partitions, String url, Map<String, String> more) {
        this.broker = broker;
        consumer = new PlayedConsumer(broker, timers, () -> RECORDS_PER_POLL);
        Map<String, String> settings = new HashMap<>();
        settings.put("name", "harness");
        settings.put(
                "topics",
                partitions.stream().map(TopicPartition::topic).distinct().collect(joining(",")));
        settings.put("connection.url", url);
        settings.put("errors.tolerance", "all");
        settings.put("errors.deadletterqueue.topic.name", "letters");
        settings.put("behavior.on.malformed.documents", "report");
        settings.put("behavior.on.null.values", "delete");
        settings.put("retry.backoff.ms", "3");
        settings.put("retry.backoff.max.ms", "47");
        settings.put("flush.timeout.ms", "503");
        settings.putAll(more);
        connector = settings.get("name");
        settings.forEach((key, value) -> {
            if (SECRET.matcher(key).find()) {
                LogSafety.keep(value);
            }
        });
        partitions.stream()
                .filter(partition -> !broker.partitions().contains(partition))
                .forEach(broker::create);
        worker = new SinkTaskWorker(
                ElasticsearchSinkConnector.class,
                new WatchedTask(new ElasticsearchSinkTask(), new WatchedTask.Watcher() {
                    @Override
                    public void committed() {
                        commits.incrementAndGet();
                    }
                }),
                settings,
                consumer,
                this::deadLetter,
                COMMIT_INTERVAL_MS,
                Time.SYSTEM);
        consumer.assignDuringPoll(partitions);
        thread = new Thread(worker::run, "worker");
        thread.start();
        await(() -> consumer.polls() > 0);
        throwFailure();
    }

    /** Settings with more laid over them, which stand as key, value, key, value. */
    static Map<String, String> settings(Map<String, String> settings, String... more) {
        Map<String, String> all = new HashMap<>(settings);
        for (int i = 0; i < more.length; i += 2) {
            all.put(more[i], more[i + 1]);
        }
        return all;
    }

    private Future<RecordMetadata> deadLetter(ProcessingContext<ConsumerRecord<byte[], byte[]>> context) {
        reportedBy = Thread.currentThread().getName();
        reports.incrementAndGet();
        beforeReport.run();
        if (refusesLetters) {
            return CompletableFuture.failedFuture(new RecordTooLargeException("larger than max.request.size"));
        }
        deadLetters.add(context.error().getMessage());
        reportedOffsets.add(context.original().offset());
        if (lettersThatArriveAtOnce.getAndDecrement() > 0) {
            return CompletableFuture.completedFuture(null);
        }
        // As a producer's: acknowledged a little later.
        CompletableFuture<RecordMetadata> arrival = new CompletableFuture<>();
        timers.after(20, () -> arrival.complete(null));
        return arrival;
    }

    /** The next record of the partition; something that no log line may hold stands in its document. */
    SinkRecord record(String key, String value) {
        return record(PARTITION, key, value);
    }

    /** Likewise, of a partition of the task's. */
    SinkRecord record(TopicPartition partition, String key, String value) {
        return new SinkRecord(
                partition.topic(),
                partition.partition(),
                Schema.OPTIONAL_BYTES_SCHEMA,
                key == null ? null : key.getBytes(UTF_8),
                Schema.OPTIONAL_BYTES_SCHEMA,
                value == null ? null : marked(value).getBytes(UTF_8),
                nextOffsets.merge(partition, 1L, Long::sum) - 1);
    }

    /** An object gets one more member, at its end; what is none gets text behind it. */
    private static String marked(String value) {
        if (!value.startsWith("{") || !value.endsWith("}")) {
            return value + LogSafety.DOCUMENT;
        }
        String comma = value.length() == 2 ? "" : ",";
        return value.substring(0, value.length() - 1) + comma + "\"m\":\"" + LogSafety.DOCUMENT + "\"}";
    }

    /** Loses the partition to somebody who forgets what was written from this offset on, and gets it back. */
    void seek(long offset) {
        consumer.loseDuringPoll(List.of(PARTITION));
        awaitRebalance();
        broker.truncate(PARTITION, offset);
        nextOffsets.put(PARTITION, offset);
        assignAgain();
    }

    /** Writes the records for one poll and waits until the task has taken them, or has paused its partition. */
    void put(Collection<SinkRecord> records) {
        records.forEach(record -> broker.append(
                new TopicPartition(record.topic(), record.kafkaPartition()),
                (byte[]) record.key(),
                (byte[]) record.value(),
                headers(record),
                record.timestamp() == null ? 1 : record.timestamp()));
        awaitPolls();
        await(() -> consumer.isAtTheEnd() || !consumer.paused().isEmpty());
        awaitPolls();
        throwFailure();
    }

    private static Headers headers(SinkRecord record) {
        Headers headers = new RecordHeaders();
        for (Header header : record.headers()) {
            headers.add(header.key(), header.value() instanceof byte[] raw ? raw : bytes(header.value()));
        }
        return headers;
    }

    private static byte[] bytes(Object value) {
        return value.toString().getBytes(UTF_8);
    }

    /** Waits until a poll has begun and ended that began after now: what was read before has been taken by then. */
    private void awaitPolls() {
        long polls = consumer.polls() + 2;
        await(() -> consumer.polls() >= polls);
    }

    private void throwFailure() {
        Throwable cause = worker.failure();
        while (cause != null && cause.getCause() instanceof ConnectException inner) {
            cause = inner;
        }
        if (cause != null) {
            throw new ConnectException(cause.getMessage(), cause);
        }
    }

    /** Writes the records; returns what makes the task fail. */
    ConnectException putUntilFailed(Collection<SinkRecord> records) {
        return assertThrows(ConnectException.class, () -> {
            put(records);
            putUntilCompleted();
        });
    }

    /** Waits until the ledger has nothing in flight. */
    void putUntilCompleted() {
        putUntilInFlight(0);
    }

    void putUntilInFlight(long records) {
        await(() -> hasInFlightAtMost(records) && consumer.isAtTheEnd());
        throwFailure();
        awaitPolls();
        throwFailure();
    }

    /** A task that fails has no metrics any more, a little before its failure is known. */
    private boolean hasInFlightAtMost(long records) {
        try {
            return attribute("RecordsInFlight") <= records;
        } catch (AssertionError gone) {
            return false;
        }
    }

    /** Waits until no request is on the wire. */
    void awaitAnswers() {
        await(() -> attribute("BulkRequestsInFlight") == 0);
    }

    /** Waits until this holds, or the task has failed. */
    void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + LONGEST_WAIT_NANOS;
        while (!condition.getAsBoolean() && worker.failure() == null) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("not within a minute");
            }
            try {
                Thread.sleep(1);
            } catch (InterruptedException interrupt) {
                throw new AssertionError(interrupt);
            }
        }
    }

    /** What the worker has committed after it has asked the task twice more. */
    long committable() {
        return committable(PARTITION);
    }

    long committable(TopicPartition partition) {
        int next = commits.get() + 2;
        await(() -> commits.get() >= next);
        return broker.committed(partition);
    }

    /** What the consumer's metrics tell of it. */
    long lag() {
        return consumer.lag(PARTITION);
    }

    Set<TopicPartition> paused() {
        return consumer.paused();
    }

    long attribute(String name) {
        return (long) read(name);
    }

    String text(String name) {
        return (String) read(name);
    }

    private Object read(String name) {
        try {
            return ManagementFactory.getPlatformMBeanServer()
                    .getAttribute(
                            new ObjectName("sluice.connect:type=sink-task-metrics,connector=" + connector + ",task=0"),
                            name);
        } catch (JMException error) {
            throw new AssertionError(name, error);
        }
    }

    /** Records by what became of them, those without any left out. */
    Map<String, Long> fates() {
        Map<String, Long> fates = new HashMap<>();
        for (String fate : FATES) {
            long records = attribute("Records" + fate);
            if (records > 0) {
                fates.put(fate, records);
            }
        }
        assert fates.size() <= Fate.values().length;
        return fates;
    }

    /** Takes the partition away in good order; polls go on while the group finds out who gets it. */
    void revoke() {
        consumer.revokeDuringPoll(List.of(PARTITION));
        awaitRebalance();
    }

    /** The group has given the partition to somebody else. */
    void lose() {
        consumer.loseDuringPoll(List.of(PARTITION));
        awaitRebalance();
    }

    void assignAgain() {
        consumer.assignDuringPoll(List.of(PARTITION));
        awaitRebalance();
    }

    private void awaitRebalance() {
        await(() -> !consumer.isRebalancing());
    }

    /** Asks the task to stop, as a worker does, which waits five seconds; whether it has by then. */
    boolean stopsInTime() {
        return worker.stop(5_000);
    }

    /** What the worker has committed by now. */
    long committed() {
        return broker.committed(PARTITION);
    }

    /** Ends the task as its process does that dies: nothing is committed any more. */
    void crash() {
        consumer.fence();
        close();
    }

    /** Waits until all that the broker holds is committed. */
    void awaitAllCommitted() {
        await(broker::isAllCommitted);
        throwFailure();
    }

    /** Stops the task as a worker does. */
    @Override
    public void close() {
        worker.stop(LONGEST_WAIT_NANOS / 1_000_000);
        try {
            thread.join();
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
        timers.close();
    }
}
