package io.sluice.connect;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import org.apache.kafka.clients.consumer.internals.FetchMetricsRegistry;
import org.apache.kafka.common.metrics.Gauge;
import org.apache.kafka.common.metrics.JmxReporter;
import org.apache.kafka.common.metrics.KafkaMetricsContext;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;

/** The lag of one task's consumer on the harness' partition, where Kafka's own reporter tells it. */
final class PlayedLag implements AutoCloseable {
    private final Metrics kafka = new Metrics(
            new MetricConfig(), List.of(new JmxReporter()), Time.SYSTEM, new KafkaMetricsContext("kafka.consumer"));
    private volatile LongSupplier records = () -> 0;

    /** @param connector whose only task it is */
    PlayedLag(String connector) {
        Map<String, String> tags = Map.of(
                "client-id",
                "connector-consumer-" + connector + "-0",
                "topic",
                TaskHarness.PARTITION.topic(),
                "partition",
                Integer.toString(TaskHarness.PARTITION.partition()));
        FetchMetricsRegistry names = new FetchMetricsRegistry(Set.of("client-id"), "consumer");
        Gauge<Double> gauge = (config, now) -> (double) records.getAsLong();
        kafka.addMetric(kafka.metricInstance(names.partitionRecordsLag, tags), gauge);
    }

    void set(LongSupplier lag) {
        records = lag;
    }

    @Override
    public void close() {
        kafka.close();
    }
}
