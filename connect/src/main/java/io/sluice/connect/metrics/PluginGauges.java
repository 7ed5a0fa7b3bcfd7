package io.sluice.connect.metrics;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.Gauge;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.sink.SinkTaskContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The ledger among the worker's own metrics (KIP-877), so that they come wherever those are reported to. */
public final class PluginGauges {
    /** By attribute: what it counts, in the words of the README. */
    private static final Map<String, String> GAUGES = gauges();

    private static final Logger LOG = LoggerFactory.getLogger(PluginGauges.class);

    private PluginGauges() {}

    private static Map<String, String> gauges() {
        Map<String, String> gauges = new LinkedHashMap<>();
        gauges.put("RecordsRead", "Records read from Kafka.");
        gauges.put("RecordsIndexed", "Records whose document was new.");
        gauges.put("RecordsUpdated", "Records whose document replaced or changed a stored one.");
        gauges.put("RecordsDeleted", "Records that deleted a document.");
        gauges.put("RecordsAlreadyThere", "Records that an earlier attempt had brought, or with nothing to delete.");
        gauges.put("RecordsStale", "Records of which a newer version is stored.");
        gauges.put("RecordsRedirected", "Records whose document went to the data stream's failure store.");
        gauges.put("RecordsDroppedByPipeline", "Records whose document an ingest pipeline dropped.");
        gauges.put("RecordsDeadLettered", "Records that arrived in the dead-letter queue.");
        gauges.put("RecordsDropped", "Records dropped as configured.");
        gauges.put("RecordsInFlight", "Records read and without a final result, including buffered ones.");
        gauges.put("BulkRequestsInFlight", "Bulk requests sent and not answered.");
        gauges.put("OldestUnacknowledgedAgeMillis", "Milliseconds since the oldest record in flight was read.");
        gauges.put(
                "StalledForMillis",
                "Milliseconds without progress while records wait, once it exceeds stall.timeout.ms; otherwise 0.");
        return gauges;
    }

    /** Adds the gauges where the worker is of Kafka 4.1 or later and takes them; tells whether it does. */
    public static boolean addWhereOffered(SinkTaskContext context, SinkMetrics metrics) {
        try {
            Offered.add(context, metrics);
            return true;
        } catch (NoSuchMethodError | NoClassDefFoundError olderWorker) {
            return false;
        } catch (IllegalArgumentException taken) {
            // A worker that lost its group starts a task anew while the old one has not ended yet and holds the names.
            LOG.warn("{}: not among the worker's own metrics until the next restart; JMX has them", taken.getMessage());
            return false;
        }
    }

    /** {@code RecordsInFlight} is called {@code records-in-flight} there. */
    static String nameOf(String attribute) {
        return attribute.replaceAll("(?<=[a-z])(?=[A-Z])", "-").toLowerCase(Locale.ROOT);
    }

    /** All that older workers have no classes for; loaded when it is first called. */
    private static final class Offered {
        static void add(SinkTaskContext context, SinkMetrics metrics) {
            PluginMetrics worker = context.pluginMetrics();
            GAUGES.forEach((attribute, description) -> {
                MetricName name = worker.metricName(nameOf(attribute), description, new LinkedHashMap<>());
                worker.addMetric(name, (Gauge<Object>)
                        (config, now) -> metrics.snapshot().get(attribute));
            });
        }
    }
}
