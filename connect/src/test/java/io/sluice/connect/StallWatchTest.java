package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.metrics.Fate;
import io.sluice.connect.metrics.PartitionLedger;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.time.ManualTimers;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.kafka.clients.consumer.internals.FetchMetricsRegistry;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Gauge;
import org.apache.kafka.common.metrics.JmxReporter;
import org.apache.kafka.common.metrics.KafkaMetricsContext;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class StallWatchTest {
    private final ManualTimers timers = new ManualTimers();
    private final SinkMetrics metrics = new SinkMetrics();
    private final PartitionLedger ledger = metrics.ledgerOf("books", 0);
    private OptionalLong lag = OptionalLong.empty();
    private final CapturedLog log = new CapturedLog();

    @BeforeEach
    void watch() {
        new StallWatch("books-0", 1_000, timers, metrics, () -> lag).start();
    }

    @AfterEach
    void close() {
        log.close();
    }

    private long stalledForMillis() {
        return (long) metrics.snapshot().get("StalledForMillis");
    }

    /** A task without records never stalls, nor does one whose records are completed. */
    @Test
    void idleAndMovingTasksDoNotStall() {
        timers.advance(5_003);
        metrics.recordRead(ledger);
        for (int round = 0; round < 11; round++) {
            metrics.recordRead(ledger);
            metrics.recordCompleted(ledger, Fate.INDEXED, 1, 1);
            timers.advance(997);
            assertEquals(0, stalledForMillis());
        }
        assertTrue(log.linesWith("stalled").isEmpty());
    }

    /** A stall is told once per timeout with the last error, measured meanwhile, and its end is told. */
    @Test
    void aStallIsToldWithItsCause() {
        metrics.recordRead(ledger);
        metrics.failed("status 429 es_rejected_execution_exception from 127.0.0.1:9200");
        timers.advance(2_500);
        assertEquals(2_500, stalledForMillis());
        assertEquals(2, log.linesWith("stalled").size());
        assertTrue(log.linesWith("stalled")
                .get(0)
                .contains("books-0: stalled: 1 records in flight and none completed for"
                        + " 1000 ms; last error: status 429 es_rejected_execution_exception from 127.0.0.1:9200"));
        metrics.recordCompleted(ledger, Fate.INDEXED, 1, 1);
        timers.advance(250);
        assertEquals(0, stalledForMillis());
        assertEquals(
                1,
                log.linesWith("books-0: resumed after 2750 ms without progress").size());
    }

    /** Records that wait while none is read and none is in flight are a stall, told once, and its end is told. */
    @Test
    void waitingRecordsThatNobodyReadsAreAStall() {
        lag = OptionalLong.of(997);
        timers.advance(5_500);
        assertEquals(5_500, stalledForMillis());
        assertEquals(1, log.linesWith("stalled").size());
        assertTrue(log.linesWith("stalled")
                .get(0)
                .contains("books-0: stalled: some 997 records wait and none is read for 1000 ms; the connector is"
                        + " paused, or the worker's consumer or this task's thread is blocked"));
        metrics.recordRead(ledger);
        metrics.recordCompleted(ledger, Fate.INDEXED, 1, 1);
        timers.advance(250);
        assertEquals(0, stalledForMillis());
        assertEquals(1, log.linesWith("books-0: resumed").size());
    }

    /** The lag is the sum over the partitions of this task's consumer, as Kafka's own reporter tells it. */
    @Test
    void theLagIsThatOfTheOwnConsumer() {
        assertEquals(OptionalLong.empty(), new ConsumerLag("connector-consumer-a:b-0").get());
        FetchMetricsRegistry names = new FetchMetricsRegistry(Set.of("client-id"), "consumer");
        JmxReporter reporter = new JmxReporter();
        KafkaMetricsContext consumer = new KafkaMetricsContext("kafka.consumer");
        try (Metrics kafka = new Metrics(new MetricConfig(), List.of(reporter), Time.SYSTEM, consumer)) {
            String[] clients = {"connector-consumer-a:b-0", "connector-consumer-a:b-0", "connector-consumer-a:b-1"};
            for (int i = 0; i < clients.length; i++) {
                int waiting = 10 * (i + 1);
                Map<String, String> tags =
                        Map.of("client-id", clients[i], "topic", "books", "partition", Integer.toString(i));
                Gauge<Double> gauge = (config, now) -> (double) waiting;
                kafka.addMetric(kafka.metricInstance(names.partitionRecordsLag, tags), gauge);
            }
            ConsumerLag lag = new ConsumerLag("connector-consumer-a:b-0");
            assertEquals(OptionalLong.of(30), lag.get());
            assertEquals(OptionalLong.of(20), lag.of(new TopicPartition("books", 1)));
            assertEquals(OptionalLong.empty(), lag.of(new TopicPartition("books", 2)));
            assertEquals(OptionalLong.empty(), lag.of(new TopicPartition("book", 1)));
        }
    }
}
