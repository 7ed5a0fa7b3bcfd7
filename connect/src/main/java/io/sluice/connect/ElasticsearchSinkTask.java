package io.sluice.connect;

import io.sluice.connect.bulk.Backoff;
import io.sluice.connect.bulk.BulkClient;
import io.sluice.connect.bulk.BulkSettings;
import io.sluice.connect.bulk.BulkWriter;
import io.sluice.connect.bulk.RestBulkClient;
import io.sluice.connect.config.OnMalformedDocuments;
import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.config.WriteMethod;
import io.sluice.connect.metrics.PluginGauges;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.metrics.SinkTaskMBean;
import io.sluice.connect.offset.Offsets;
import io.sluice.connect.time.Timers;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One task of the sink: wires the stages together and hands them what the worker brings. */
public final class ElasticsearchSinkTask extends SinkTask {
    private static final Logger LOG = LoggerFactory.getLogger(ElasticsearchSinkTask.class);

    /** The worker's, for the consumer that it gives a task. */
    private static final String CONSUMER_CLIENT_ID = "consumer.override.client.id";

    private final Machine machine;
    private final SinkMetrics metrics = new SinkMetrics();
    private final Offsets offsets = new Offsets(metrics);
    private String name = "";
    private SinkConfig config;
    private Backlog backlog;
    private Timers timers;
    private Timers postbox;
    private BulkClient client;
    private BulkWriter writer;
    private Settlement settlement;
    private Intake intake;
    private Pressure pressure;
    private SinkTaskMBean bean;

    /** For Connect. */
    public ElasticsearchSinkTask() {
        this(Machine.REAL);
    }

    ElasticsearchSinkTask(Machine machine) {
        this.machine = machine;
    }

    @Override
    public void start(Map<String, String> settings) {
        String connector = settings.getOrDefault("name", "unnamed");
        String task = settings.getOrDefault(ElasticsearchSinkConnector.TASK_ID, "0");
        name = connector + "-" + task;
        config = new SinkConfig(settings);
        DeadLetters deadLetters = DeadLetters.of(context);
        requireDeadLettersIfAsked(deadLetters);
        timers = machine.timers("sluice-" + name);
        postbox = machine.timers("sluice-" + name + "-dead-letters");
        backlog = new Backlog(
                config.buffers().maxBufferedRecords(), config.buffers().maxBufferedBytes(), timers);
        client = machine.client(config);
        settlement = new Settlement(
                config.writing().onMalformedDocuments(),
                deadLetters,
                backlog,
                metrics,
                postbox,
                ElasticsearchSinkTask::epochMicros);
        writer = new BulkWriter(bulkSettings(), client, backoff(), timers, settlement, metrics);
        intake = new Intake(config, offsets, backlog, settlement, writer, timers, metrics);
        pressure = new Pressure(context, backlog, settlement::hasFailed, timers, metrics);
        metrics.setOldestUndecidedAgeMillis(writer::oldestAgeMillis);
        String clientId = settings.getOrDefault(CONSUMER_CLIENT_ID, "connector-consumer-" + name);
        new StallWatch(name, config.retries().stallTimeoutMs(), timers, metrics, new ConsumerLag(clientId)).start();
        bean = SinkTaskMBean.register(connector, task, metrics);
        PluginGauges.addWhereOffered(context, metrics);
        long writingBytes = RestBulkClient.writingBytes(
                config.connection().compressed(), config.requests().maxInFlightRequests());
        LOG.info(
                "{}: started; holds at most {} bytes (max.buffered.bytes {} + {} for writing up to {} requests)"
                        + " and the records of one poll",
                name,
                config.buffers().maxBufferedBytes() + writingBytes,
                config.buffers().maxBufferedBytes(),
                writingBytes,
                config.requests().maxInFlightRequests());
    }

    private void requireDeadLettersIfAsked(DeadLetters deadLetters) {
        if (config.writing().onMalformedDocuments() == OnMalformedDocuments.REPORT && !deadLetters.isAvailable()) {
            throw new ConnectException(
                    "behavior.on.malformed.documents: got report without a dead-letter queue, expected"
                            + " errors.tolerance=all and errors.deadletterqueue.topic.name");
        }
    }

    private BulkSettings bulkSettings() {
        return new BulkSettings(
                config.requests().batchSize(),
                config.requests().bulkSizeBytes(),
                config.requests().lingerMs(),
                config.requests().maxInFlightRequests(),
                config.requests().adaptive(),
                config.retries().maxRetries(),
                config.retries().retryTimeoutMs(),
                config.writing().writeMethod() == WriteMethod.UPSERT,
                config.requests().maxDocumentsPerSecond(),
                config.requests().maxBytesPerSecond());
    }

    private Backoff backoff() {
        return new Backoff(
                config.retries().retryBackoffMs(),
                config.retries().retryBackoffMaxMs(),
                () -> ThreadLocalRandom.current().nextDouble());
    }

    private static long epochMicros() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }

    @Override
    public void open(Collection<TopicPartition> partitions) {
        offsets.open(partitions);
        pressure.assigned();
        writer.giveBack();
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        settlement.throwFailure();
        intake.take(records);
        pressure.relieve();
        settlement.throwFailure();
    }

    @Override
    public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> consumed) {
        return offsets.committable(consumed);
    }

    @Override
    public void close(Collection<TopicPartition> partitions) {
        if (writer != null) {
            writer.flush();
            backlog.awaitWhile(
                    () -> offsets.undecided(partitions) > 0 && !settlement.hasFailed(),
                    config.buffers().flushTimeoutMs());
        }
        offsets.close(partitions);
        if (writer != null) {
            writer.giveBack();
        }
    }

    @Override
    public void stop() {
        if (bean == null) {
            return;
        }
        writer.stop();
        timers.close();
        postbox.close();
        client.close();
        bean.close();
        LOG.info("{}: stopped; {}; by partition {}", name, metrics.ledger(), metrics.ledgerByPartition());
    }

    @Override
    public String version() {
        return Version.get();
    }
}
