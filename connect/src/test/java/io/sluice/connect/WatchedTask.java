package io.sluice.connect;

import java.util.Collection;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.sink.SinkTaskContext;

/** The task, with its commits counted. */
final class WatchedTask extends SinkTask {
    final AtomicInteger commits = new AtomicInteger();
    private final SinkTask task = new ElasticsearchSinkTask();

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
        task.open(partitions);
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        task.put(records);
    }

    @Override
    public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> consumed) {
        Map<TopicPartition, OffsetAndMetadata> committable = task.preCommit(consumed);
        commits.incrementAndGet();
        return committable;
    }

    @Override
    public void close(Collection<TopicPartition> partitions) {
        task.close(partitions);
    }

    @Override
    public void stop() {
        task.stop();
    }

    @Override
    public String version() {
        return task.version();
    }
}
