package io.sluice.connect.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.connect.sink.SinkTaskContext;
import org.junit.jupiter.api.Test;

class PluginGaugesTest {
    private static SinkTaskContext context(Supplier<Object> pluginMetrics) {
        return (SinkTaskContext) Proxy.newProxyInstance(
                PluginGaugesTest.class.getClassLoader(),
                new Class<?>[] {SinkTaskContext.class},
                (proxy, method, arguments) -> pluginMetrics.get());
    }

    /** The gauges show the ledger as it is when they are read. */
    @Test
    void theGaugesShowTheLedgerAsItIs() throws Exception {
        SinkMetrics counts = new SinkMetrics();
        try (Metrics worker = new Metrics();
                PluginMetricsImpl plugin = new PluginMetricsImpl(worker, Map.of("connector", "books"))) {
            assertTrue(PluginGauges.addWhereOffered(context(() -> plugin), counts));
            PartitionLedger ledger = counts.ledgerOf("books", 0);
            for (int i = 0; i < 7; i++) {
                counts.recordRead(ledger);
            }
            counts.recordCompleted(ledger, Fate.ALREADY_THERE, 1, -1);
            counts.bulkSent(false);
            Map<String, Object> shown = new TreeMap<>();
            worker.metrics().forEach((name, metric) -> {
                if (name.tags().containsKey("connector")) {
                    shown.put(name.name(), metric.metricValue());
                }
            });
            Map<String, Object> expected = new TreeMap<>();
            counts.snapshot().forEach((attribute, value) -> {
                if (shown.containsKey(PluginGauges.nameOf(attribute))) {
                    expected.put(PluginGauges.nameOf(attribute), value);
                }
            });
            assertEquals(expected, shown);
            assertEquals(14, shown.size());
            assertEquals(7L, shown.get("records-read"));
            assertEquals(6L, shown.get("records-in-flight"));
            assertEquals(1L, shown.get("records-already-there"));
            assertEquals(1L, shown.get("bulk-requests-in-flight"));
        }
    }

    /** Names that an earlier task still holds, as one that was revoked but has not ended, keep no task from starting. */
    @Test
    void namesThatAreTakenAreNoError() throws Exception {
        try (Metrics worker = new Metrics();
                PluginMetricsImpl given = new PluginMetricsImpl(worker, Map.of("connector", "books"));
                PluginMetricsImpl anew = new PluginMetricsImpl(worker, Map.of("connector", "books"))) {
            assertTrue(PluginGauges.addWhereOffered(context(() -> given), new SinkMetrics()));
            assertFalse(PluginGauges.addWhereOffered(context(() -> anew), new SinkMetrics()));
        }
    }

    /** A worker that has no such method is no error. */
    @Test
    void anOlderWorkerIsNoError() {
        SinkTaskContext older = context(() -> {
            throw new NoSuchMethodError("pluginMetrics");
        });
        assertFalse(PluginGauges.addWhereOffered(older, new SinkMetrics()));
    }
}
