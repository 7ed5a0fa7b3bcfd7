package org.apache.kafka.connect.runtime;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.internals.Plugin;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.runtime.errors.ErrorHandlingMetrics;
import org.apache.kafka.connect.runtime.errors.ErrorReporter;
import org.apache.kafka.connect.runtime.errors.LogReporter;
import org.apache.kafka.connect.runtime.errors.RetryWithToleranceOperator;
import org.apache.kafka.connect.runtime.errors.WorkerErrantRecordReporter;
import org.apache.kafka.connect.runtime.isolation.LoaderSwap;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.storage.ClusterConfigState;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.storage.MemoryStatusBackingStore;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * Connect's own {@link WorkerSinkTask} around one task: its order of calls, its converters, transformations and errant
 * record reporters, as {@code Worker} puts them together from the connector's settings. Lies in Connect's package, which
 * shows that class to nobody else.
 */
public final class SinkTaskWorker {
    private static final Plugins PLUGINS = new Plugins(Map.of("plugin.discovery", "service_load"));
    private static final String BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter";

    private final WorkerSinkTask worker;
    private final TaskConfig taskConfig;
    private volatile Throwable failure;

    /**
     * @param settings the connector's; converters that are not given are for bytes
     * @param queue stands for the producer to the dead-letter queue, used where the settings name one
     * @param commitIntervalMs {@code offset.flush.interval.ms} of the worker
     */
    public SinkTaskWorker(
            Class<? extends Connector> connector,
            SinkTask task,
            Map<String, String> settings,
            Consumer<byte[], byte[]> consumer,
            ErrorReporter<ConsumerRecord<byte[], byte[]>> queue,
            long commitIntervalMs,
            Time time) {
        Map<String, String> given = new HashMap<>(settings);
        given.put("connector.class", connector.getName());
        given.put("task.class", task.getClass().getName());
        taskConfig = new TaskConfig(given);
        ConnectorTaskId id = new ConnectorTaskId(given.get("name"), 0);
        WorkerConfig workerConfig = new StandaloneConfig(Map.of(
                "bootstrap.servers",
                "localhost:9",
                "key.converter",
                BYTES,
                "value.converter",
                BYTES,
                "offset.storage.file.filename",
                "unused",
                "topic.tracking.enable",
                "false",
                "offset.flush.interval.ms",
                Long.toString(commitIntervalMs)));
        SinkConnectorConfig sinkConfig = new SinkConnectorConfig(PLUGINS, given);
        ConnectMetrics metrics = new ConnectMetrics("worker", workerConfig, time, "cluster");
        ErrorHandlingMetrics errorMetrics = new ErrorHandlingMetrics(id, metrics);
        Converter keys = converter(given, "key.converter", true);
        Converter values = converter(given, "value.converter", false);
        HeaderConverter headers = headerConverter(given);
        RetryWithToleranceOperator<ConsumerRecord<byte[], byte[]>> tolerance = new RetryWithToleranceOperator<>(
                sinkConfig.errorRetryTimeout(),
                sinkConfig.errorMaxDelayInMillis(),
                sinkConfig.errorToleranceType(),
                time,
                errorMetrics);
        WorkerErrantRecordReporter reporter = sinkConfig.enableErrantRecordReporter()
                ? new WorkerErrantRecordReporter(tolerance, keys, values, headers)
                : null;
        List<TransformationStage<SinkRecord>> stages = sinkConfig.transformationStages(PLUGINS, id, metrics);
        worker = new WorkerSinkTask(
                id,
                task,
                new Listener(),
                TargetState.STARTED,
                workerConfig,
                ClusterConfigState.EMPTY,
                metrics,
                Plugin.wrapInstance(keys, null, "key.converter"),
                Plugin.wrapInstance(values, null, "value.converter"),
                errorMetrics,
                Plugin.wrapInstance(headers, null, "header.converter"),
                new TransformationChain<>(stages, tolerance),
                consumer,
                SinkTaskWorker.class.getClassLoader(),
                time,
                tolerance,
                reporter,
                new MemoryStatusBackingStore(),
                () -> reporters(id, sinkConfig, errorMetrics, queue),
                new TaskPluginsMetadata(connector, task, keys, values, headers, List.of(), PLUGINS),
                LoaderSwap::new);
    }

    private static List<ErrorReporter<ConsumerRecord<byte[], byte[]>>> reporters(
            ConnectorTaskId id,
            SinkConnectorConfig config,
            ErrorHandlingMetrics metrics,
            ErrorReporter<ConsumerRecord<byte[], byte[]>> queue) {
        List<ErrorReporter<ConsumerRecord<byte[], byte[]>>> reporters = new ArrayList<>();
        reporters.add(new LogReporter.Sink(id, config, metrics));
        if (!config.dlqTopicName().isBlank()) {
            reporters.add(counted(queue, metrics));
        }
        return reporters;
    }

    /** Counts as DeadLetterQueueReporter does: what the producer refuses at once has failed before it is returned. */
    private static ErrorReporter<ConsumerRecord<byte[], byte[]>> counted(
            ErrorReporter<ConsumerRecord<byte[], byte[]>> queue, ErrorHandlingMetrics metrics) {
        return context -> {
            metrics.recordDeadLetterQueueProduceRequest();
            Future<RecordMetadata> arrival = queue.report(context);
            if (arrival instanceof CompletableFuture<RecordMetadata> future && future.isCompletedExceptionally()) {
                metrics.recordDeadLetterQueueProduceFailed();
            }
            return arrival;
        };
    }

    private static Converter converter(Map<String, String> given, String key, boolean isKey) {
        Converter converter = made(Converter.class, given.getOrDefault(key, BYTES));
        Map<String, String> own = new HashMap<>();
        given.forEach((name, value) -> {
            if (name.startsWith(key + ".")) {
                own.put(name.substring(key.length() + 1), value);
            }
        });
        converter.configure(own, isKey);
        return converter;
    }

    private static HeaderConverter headerConverter(Map<String, String> given) {
        HeaderConverter converter = made(HeaderConverter.class, given.getOrDefault("header.converter", BYTES));
        converter.configure(Map.of("converter.type", "header"));
        return converter;
    }

    private static <T> T made(Class<T> type, String name) {
        try {
            return type.cast(Class.forName(name).getDeclaredConstructor().newInstance());
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(name, impossible);
        }
    }

    /** What made the task fail, or {@code null}. */
    public Throwable failure() {
        return failure;
    }

    /** Runs the task until {@link #stop}, as a thread of the worker does. */
    public void run() {
        worker.initialize(taskConfig);
        worker.run();
    }

    /** Asks a task that runs to stop, and waits. */
    public boolean stop(long longestMs) {
        worker.stop();
        return worker.awaitStop(longestMs);
    }

    /** Leaves a task alone that did not stop in time: it commits nothing any more. */
    public void cancel() {
        worker.cancel();
    }

    /** The beginning of {@link #run}, for who goes on step by step on his own thread. */
    public void begin() {
        guarded(() -> {
            worker.initialize(taskConfig);
            worker.doStart();
        });
    }

    /** One poll with all that belongs to it; nothing once the task has failed. */
    public void step() {
        if (failure == null) {
            guarded(worker::iteration);
        }
    }

    /** The end of {@link #run}. */
    public void end() {
        worker.stop();
        guarded(worker::execute);
        guarded(worker::doClose);
    }

    private void guarded(Runnable call) {
        try {
            call.run();
        } catch (RuntimeException thrown) {
            failure = failure == null ? thrown : failure;
        }
    }

    private final class Listener implements TaskStatus.Listener {
        @Override
        public void onFailure(ConnectorTaskId id, Throwable cause) {
            failure = cause;
        }

        @Override
        public void onStartup(ConnectorTaskId id) {}

        @Override
        public void onPause(ConnectorTaskId id) {}

        @Override
        public void onResume(ConnectorTaskId id) {}

        @Override
        public void onShutdown(ConnectorTaskId id) {}

        @Override
        public void onDeletion(ConnectorTaskId id) {}

        @Override
        public void onRestart(ConnectorTaskId id) {}
    }
}
