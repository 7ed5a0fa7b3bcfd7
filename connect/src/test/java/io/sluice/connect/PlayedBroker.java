package io.sluice.connect;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.record.TimestampType;

/** Partitions and committed offsets, as they outlive the tasks that read them. Safe for several threads. */
final class PlayedBroker {
    private final Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> logs = new TreeMap<>(
            java.util.Comparator.comparing(TopicPartition::topic).thenComparingInt(TopicPartition::partition));
    private final Map<TopicPartition, Long> committed = new TreeMap<>(
            java.util.Comparator.comparing(TopicPartition::topic).thenComparingInt(TopicPartition::partition));

    synchronized void create(TopicPartition partition) {
        logs.put(partition, new ArrayList<>());
    }

    synchronized Set<TopicPartition> partitions() {
        return Set.copyOf(logs.keySet());
    }

    /** Appends a record; returns its offset. */
    synchronized long append(TopicPartition partition, byte[] key, byte[] value, Headers headers, long timestampMs) {
        List<ConsumerRecord<byte[], byte[]>> log = logs.get(partition);
        long offset = end(partition);
        log.add(new ConsumerRecord<>(
                partition.topic(),
                partition.partition(),
                offset,
                timestampMs,
                TimestampType.CREATE_TIME,
                key == null ? -1 : key.length,
                value == null ? -1 : value.length,
                key,
                value,
                headers,
                java.util.Optional.empty()));
        notifyAll();
        return offset;
    }

    synchronized long end(TopicPartition partition) {
        return logs.get(partition).size();
    }

    /** Forgets what was written from this offset on, and commits it. */
    synchronized void truncate(TopicPartition partition, long end) {
        List<ConsumerRecord<byte[], byte[]>> log = logs.get(partition);
        log.subList((int) Math.min(end, log.size()), log.size()).clear();
        commit(partition, end);
    }

    synchronized List<ConsumerRecord<byte[], byte[]>> records(TopicPartition partition, long from, int most) {
        List<ConsumerRecord<byte[], byte[]>> log = logs.get(partition);
        int first = (int) Math.min(from, log.size());
        return List.copyOf(log.subList(first, Math.min(log.size(), first + most)));
    }

    synchronized void commit(TopicPartition partition, long offset) {
        committed.put(partition, offset);
        notifyAll();
    }

    /** The offset to read next, 0 before the first commit. */
    synchronized long committed(TopicPartition partition) {
        return committed.getOrDefault(partition, 0L);
    }

    /** Whether the committed offset is the end of every partition. */
    synchronized boolean isAllCommitted() {
        return logs.entrySet().stream()
                .allMatch(log -> committed(log.getKey()) == log.getValue().size());
    }
}
