package io.sluice.connect;

import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.OptionalLong;
import javax.management.JMException;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import javax.management.RuntimeMBeanException;

/**
 * What the worker counts about a task: no interface tells the task, but the worker's MBeans are in the same JVM. Each
 * count is empty where the worker offers none, as with {@code metric.reporters} without JMX.
 */
final class WorkerMetrics {
    /** Kafka quotes all other values in the names of its MBeans ({@code Sanitizer.jmxSanitize}). */
    private static final String PLAIN = "[\\w%. \t-]*";

    private final ObjectName errors;
    private final ObjectName records;

    private WorkerMetrics(String connector, String task) {
        errors = name("task-error-metrics", connector, task);
        records = name("sink-task-metrics", connector, task);
    }

    /** @param settings the task's, which name connector and task */
    static WorkerMetrics of(Map<String, String> settings) {
        return new WorkerMetrics(
                settings.getOrDefault("name", "unnamed"), settings.getOrDefault(NumberingSinkConnector.TASK_ID, "0"));
    }

    private static ObjectName name(String group, String connector, String task) {
        String quoted = connector.matches(PLAIN) ? connector : ObjectName.quote(connector);
        try {
            return new ObjectName("kafka.connect:type=" + group + ",connector=" + quoted + ",task=" + task);
        } catch (MalformedObjectNameException impossible) {
            throw new IllegalStateException(connector, impossible);
        }
    }

    /** Dead letters that the producer could not write; counted before it returns one that it refuses at once. */
    OptionalLong lettersFailed() {
        return read(errors, "deadletterqueue-produce-failures");
    }

    /** Records that a converter or a transform failed on, which the worker tolerated. */
    OptionalLong recordsSkipped() {
        return read(errors, "total-records-skipped");
    }

    /** Records that the worker has read for the task, before converters and transforms; markers of transactions are none. */
    OptionalLong recordsConsumed() {
        return read(records, "sink-record-read-total");
    }

    private static OptionalLong read(ObjectName bean, String attribute) {
        try {
            Object value = ManagementFactory.getPlatformMBeanServer().getAttribute(bean, attribute);
            return OptionalLong.of(((Number) value).longValue());
        } catch (JMException | RuntimeMBeanException notOffered) {
            return OptionalLong.empty();
        }
    }
}
