package io.sluice.connect.offset;

import org.apache.kafka.connect.sink.SinkRecord;

/** Where in Kafka a record was read. */
public record Origin(String topic, int partition, long offset) {
    private static final boolean WORKER_KEEPS_ORIGINALS = workerKeepsOriginals();

    /** The place the record was read from, whatever a transformation made of its topic (workers since 3.6 tell). */
    public static Origin of(SinkRecord record) {
        if (WORKER_KEEPS_ORIGINALS && record.originalTopic() != null) {
            return new Origin(record.originalTopic(), record.originalKafkaPartition(), record.originalKafkaOffset());
        }
        return new Origin(record.topic(), record.kafkaPartition(), record.kafkaOffset());
    }

    /** Whether the worker says where a record was read, whatever a transformation made of its topic. */
    public static boolean isTold() {
        return WORKER_KEEPS_ORIGINALS;
    }

    private static boolean workerKeepsOriginals() {
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
