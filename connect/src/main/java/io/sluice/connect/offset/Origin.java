package io.sluice.connect.offset;

import org.apache.kafka.connect.sink.SinkRecord;

/** Where in Kafka a record was read. */
public record Origin(String topic, int partition, long offset) {
    private static final boolean WORKER_KEEPS_ORIGINALS = hasOriginals();

    /** The place the record was read from, whatever a transformation made of its topic (workers since 3.6 tell). */
    public static Origin of(SinkRecord record) {
        if (WORKER_KEEPS_ORIGINALS && record.originalTopic() != null) {
            return new Origin(record.originalTopic(), record.originalKafkaPartition(), record.originalKafkaOffset());
        }
        return new Origin(record.topic(), record.kafkaPartition(), record.kafkaOffset());
    }

    /** Whether this worker tells where a record was read that a transformation gave another topic (Connect 3.6 and later). */
    public static boolean workerKeepsOriginals() {
        return WORKER_KEEPS_ORIGINALS;
    }

    private static boolean hasOriginals() {
        try {
            SinkRecord.class.getMethod("originalTopic");
            return true;
        } catch (NoSuchMethodException olderWorker) {
            return false;
        }
    }

    @Override
    public String toString() {
        return topic + "-" + partition + "@" + offset;
    }
}
