package io.sluice.connect.offset;

import io.sluice.connect.metrics.SinkMetrics;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.errors.ConnectException;

/** The partitions this task owns, each with its incomplete records. Used by the task's thread only. */
public final class Offsets {
    private final Map<TopicPartition, PartitionOffsets> partitions = new HashMap<>();
    private final SinkMetrics metrics;
    private TopicPartition lastPartition;
    private PartitionOffsets lastOffsets;

    /** @param metrics where each partition's records are counted */
    public Offsets(SinkMetrics metrics) {
        this.metrics = metrics;
    }

    private PartitionOffsets followed(TopicPartition partition) {
        return new PartitionOffsets(metrics.ledgerOf(partition.topic(), partition.partition()));
    }

    /** Starts to follow partitions afresh: what was known of them belongs to an earlier assignment. */
    public void open(Collection<TopicPartition> opened) {
        close(opened);
        opened.forEach(partition -> partitions.put(partition, followed(partition)));
    }

    /** Gives partitions up; records of theirs that were sent may still be completed, without effect here. */
    public void close(Collection<TopicPartition> closed) {
        for (TopicPartition partition : closed) {
            PartitionOffsets offsets = partitions.remove(partition);
            if (offsets != null) {
                offsets.revoke();
            }
        }
        lastPartition = null;
    }

    /** The topics of the partitions that this task owns. */
    public Set<String> topics() {
        return partitions.keySet().stream().map(TopicPartition::topic).collect(Collectors.toSet());
    }

    /**
     * The incomplete records of one partition; consecutive calls mostly ask for the same one.
     *
     * @throws ConnectException the task does not own the partition
     */
    public PartitionOffsets of(String topic, int partition) {
        if (lastPartition == null
                || lastPartition.partition() != partition
                || !lastPartition.topic().equals(topic)) {
            TopicPartition asked = new TopicPartition(topic, partition);
            lastOffsets = owned(asked);
            lastPartition = asked;
        }
        return lastOffsets;
    }

    /** Offsets of another partition must never be taken for those of an own one: they would be committed. */
    private PartitionOffsets owned(TopicPartition partition) {
        PartitionOffsets offsets = partitions.get(partition);
        if (offsets == null) {
            throw new ConnectException(partition + ": got a record of a partition that this task does not own, expected"
                    + " one of " + partitions.keySet()
                    + "; a transformation that renames topics needs a worker of Kafka"
                    + " Connect 3.6 or later");
        }
        return offsets;
    }

    /** Records of these partitions that were read and are not completed. */
    public long incomplete(Collection<TopicPartition> asked) {
        return asked.stream()
                .map(partitions::get)
                .mapToLong(offsets -> offsets == null ? 0 : offsets.incomplete())
                .sum();
    }

    /** Whether somebody waits for {@link #sampleEnds}. */
    public boolean areEndsAsked() {
        return partitions.values().stream().anyMatch(offsets -> offsets.end().isAsked());
    }

    /**
     * Notes how far the partitions reach of which that is asked.
     *
     * @param consumed the offsets up to which the worker has handed records over
     * @param lag of a partition, from there on
     */
    public void sampleEnds(
            Map<TopicPartition, OffsetAndMetadata> consumed,
            Function<TopicPartition, OptionalLong> lag,
            long nowNanos) {
        consumed.forEach((partition, next) -> {
            PartitionOffsets offsets = partitions.get(partition);
            if (offsets != null && offsets.end().isAsked()) {
                offsets.end().sampled(next.offset(), lag.apply(partition), nowNanos);
            }
        });
    }

    /**
     * What may be committed of {@code consumed}, the offsets up to which the worker has handed records over.
     *
     * <p>A partition with nothing incomplete gives what the worker says, which also covers records that a transformation
     * filtered out; any other gives the offset of its first incomplete record. A partition this task does not own gives nothing.
     */
    public Map<TopicPartition, OffsetAndMetadata> committable(Map<TopicPartition, OffsetAndMetadata> consumed) {
        Map<TopicPartition, OffsetAndMetadata> committable = new HashMap<>();
        consumed.forEach((partition, end) -> {
            PartitionOffsets offsets = partitions.get(partition);
            if (offsets != null) {
                boolean allCompleted = offsets.incomplete() == 0;
                committable.put(partition, allCompleted ? end : new OffsetAndMetadata(offsets.committable()));
            }
        });
        return committable;
    }
}
