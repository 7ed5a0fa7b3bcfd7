package io.sluice.connect;

import io.sluice.connect.bulk.Backoff;
import io.sluice.connect.bulk.BulkClient;
import io.sluice.connect.bulk.BulkWriter;
import io.sluice.connect.bulk.RestBulkClient;
import io.sluice.connect.config.OnMalformedDocuments;
import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.metrics.PluginGauges;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.metrics.SinkTaskMBean;
import io.sluice.connect.offset.Offsets;
import io.sluice.connect.offset.Origin;
import io.sluice.connect.time.Timers;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
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

    /** The worker's, too. */
    private static final String TRANSFORMS = "transforms";

    /**
     * How long giving partitions up may take: a worker leaves a task alone that has not stopped after five seconds, and
     * then commits nothing of it.
     */
    private static final long LONGEST_RELEASE_MS = 4_000;

    /** The part of it in which records are still completed; the rest is for requests on the wire. */
    private static final long LONGEST_COMMIT_WAIT_MS = 2_000;

    private final Environment environment;
    private final SinkMetrics metrics = new SinkMetrics();
    private final Offsets offsets = new Offsets(metrics);
    private String name = "";
    private SinkConfig config;
    private Backlog backlog;
    private Timers timers;
    private Timers reporter;
    private BulkClient client;
    private BulkWriter writer;
    private Settlement settlement;
    private Intake intake;
    private Pressure pressure;
    private SinkTaskMBean bean;
    private long commitBegunNanos;

    /** For Connect. */
    public ElasticsearchSinkTask() {
        this(Environment.REAL);
    }

    ElasticsearchSinkTask(Environment environment) {
        this.environment = environment;
    }

    @Override
    public void start(Map<String, String> settings) {
        try {
            begin(settings);
        } catch (RuntimeException unable) {
            stop();
            throw unable;
        }
    }

    private void begin(Map<String, String> settings) {
        String connector = settings.getOrDefault("name", "unnamed");
        String task = settings.getOrDefault(NumberingSinkConnector.TASK_ID, "0");
        name = connector + "-" + task;
        config = new SinkConfig(settings);
        requireTheOriginsOfRecords(settings);
        DeadLetters deadLetters = DeadLetters.of(context, settings);
        requireDeadLettersIfAsked(deadLetters);
        timers = environment.timers("sluice-" + name, this::failed);
        reporter = environment.timers("sluice-" + name + "-dead-letters", this::failed);
        backlog = new Backlog(
                config.buffers().maxBufferedRecords(), config.buffers().maxBufferedBytes(), timers);
        client = environment.client(config);
        settlement = new Settlement(
                config.writing().onMalformedDocuments(),
                deadLetters,
                backlog,
                metrics,
                reporter,
                ElasticsearchSinkTask::epochMicros);
        writer = new BulkWriter(config, client, backoff(), timers, settlement, metrics);
        intake = new Intake(config, offsets, backlog, settlement, writer, timers, metrics);
        pressure = new Pressure(context, backlog, writer::parkedPartitions, settlement::hasFailed, timers, metrics);
        metrics.setOldestIncompleteAgeMillis(writer::oldestAgeMillis);
        metrics.setNodesLeftOut(client::nodesLeftOut);
        String clientId = settings.getOrDefault(CONSUMER_CLIENT_ID, "connector-consumer-" + name);
        new StallWatch(name, config.retries().stallTimeoutMs(), timers, metrics, new ConsumerLag(clientId)).start();
        bean = SinkTaskMBean.register(connector, task, metrics);
        PluginGauges.addWhereOffered(context, metrics);
        long writingBytes = RestBulkClient.writingBytes(
                config.connection().compressed(), config.requests().maxInFlightRequests());
        LOG.info(
                "{}: started; holds at most {} bytes (max.buffered.bytes {} + {} for writing up to {} requests)"
                        + " and the records of one poll; as many bytes again of records whose targets cannot be served",
                name,
                config.buffers().maxBufferedBytes() + writingBytes,
                config.buffers().maxBufferedBytes(),
                writingBytes,
                config.requests().maxInFlightRequests());
    }

    private void failed(Throwable thrown) {
        settlement.failed(thrown);
    }

    private static void requireTheOriginsOfRecords(Map<String, String> settings) {
        boolean transforms = !settings.getOrDefault(TRANSFORMS, "").isBlank();
        if (transforms && !Origin.workerKeepsOriginals()) {
            throw new ConnectException(TRANSFORMS + ": got " + settings.get(TRANSFORMS) + ", expected none on a worker"
                    + " before Kafka Connect 3.6, which does not tell where a transformed record was read");
        }
    }

    private void requireDeadLettersIfAsked(DeadLetters deadLetters) {
        if (config.writing().onMalformedDocuments() == OnMalformedDocuments.REPORT && !deadLetters.isAvailable()) {
            throw new ConnectException(
                    "behavior.on.malformed.documents: got report without a dead-letter queue, expected"
                            + " errors.tolerance=all and errors.deadletterqueue.topic.name");
        }
    }

    private Backoff backoff() {
        return new Backoff(
                config.retries().retryBackoffMs(), config.retries().retryBackoffMaxMs(), environment::random);
    }

    private static long epochMicros() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }

    @Override
    public void open(Collection<TopicPartition> partitions) {
        offsets.open(partitions);
        pressure.assigned();
        writer.setSeveralTargets(config.targets().areSeveral(offsets.topics()));
        writer.revoke();
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        settlement.throwFailure();
        intake.take(records);
        pressure.relieve();
        settlement.throwFailure();
    }

    /**
     * Waits a little for what was read, since the worker calls this also before it takes partitions away or stops the
     * task, and commits nothing after that: what is completed here is not sent again by whoever reads on.
     */
    @Override
    public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> consumed) {
        commitBegunNanos = timers.nanoTime();
        writer.flush();
        // Without ids of our own whatever is sent again is stored twice, which is worth all the time there is.
        long longestMs = config.identity().autogeneratedIds() ? LONGEST_RELEASE_MS : LONGEST_COMMIT_WAIT_MS;
        await(() -> offsets.incomplete(consumed.keySet()) > backlog.parkedRecords(), longestMs);
        return offsets.committable(consumed);
    }

    private void await(BooleanSupplier condition, long longestMs) {
        backlog.awaitWhile(
                () -> condition.getAsBoolean() && !settlement.hasFailed(),
                Math.min(longestMs, config.buffers().flushTimeoutMs()));
    }

    /** Sends nothing more of these partitions; waits for what is on the wire, which could else arrive after the next owner's. */
    @Override
    public void close(Collection<TopicPartition> partitions) {
        offsets.close(partitions);
        if (writer != null) {
            writer.setSeveralTargets(config.targets().areSeveral(offsets.topics()));
            writer.revoke();
            long sinceCommitMs = TimeUnit.NANOSECONDS.toMillis(timers.nanoTime() - commitBegunNanos);
            boolean isLost = sinceCommitMs > LONGEST_RELEASE_MS + 1_000;
            await(writer::hasRevokedOnTheWire, isLost ? LONGEST_RELEASE_MS : LONGEST_RELEASE_MS - sinceCommitMs);
        }
    }

    /** Also after a start that failed half-way. */
    @Override
    public void stop() {
        if (writer != null) {
            writer.stop();
        }
        for (AutoCloseable open : Arrays.asList(timers, reporter, client, bean)) {
            close(open);
        }
        if (bean != null) {
            // Only now: until the client was closed, answers still came.
            LOG.info("{}: stopped; {}; by partition {}", name, metrics.ledger(), metrics.ledgerByPartition());
        }
    }

    private void close(AutoCloseable open) {
        try {
            if (open != null) {
                open.close();
            }
        } catch (Exception unclosable) {
            LOG.warn("{}: cannot close {}", name, open.getClass().getSimpleName(), unclosable);
        }
    }

    @Override
    public String version() {
        return Version.get();
    }
}
