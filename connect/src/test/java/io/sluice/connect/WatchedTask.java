package io.sluice.connect;

import java.util.Collection;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.sink.SinkTaskContext;

/** A task whose calls somebody else hears of. */
final class WatchedTask extends SinkTask {
    /** Hears of the worker's calls. */
    interface Watcher {
        default void opened(Collection<TopicPartition> partitions) {}

        default void committed() {}

        /** Has to make the call. */
        default void closes(Collection<TopicPartition> partitions, Runnable call) {
            call.run();
        }

        default void stopped() {}
    }

    private final SinkTask task;
    private final Watcher watcher;

    WatchedTask(SinkTask task, Watcher watcher) {
        this.task = task;
        this.watcher = watcher;
    }

    @Override
    public void initialize(SinkTaskContext worker) {
        task.initialize(worker);
    }

    @Override
    public void start(Map<String, String> settings) {
        task.start(settings);
    }

    @Override
    public void open(Collection<TopicPartition> partitions) {
        watcher.opened(partitions);
        task.open(partitions);
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        task.put(records);
    }

    @Override
    public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> consumed) {
        Map<TopicPartition, OffsetAndMetadata> committable = task.preCommit(consumed);
        watcher.committed();
        return committable;
    }

    @Override
    public void close(Collection<TopicPartition> partitions) {
        watcher.closes(partitions, () -> task.close(partitions));
    }

    @Override
    public void stop() {
        task.stop();
        watcher.stopped();
    }

    @Override
    public String version() {
        return task.version();
    }
}
