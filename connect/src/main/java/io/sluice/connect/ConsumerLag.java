package io.sluice.connect;

import java.lang.management.ManagementFactory;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import javax.management.RuntimeMBeanException;
import org.apache.kafka.common.TopicPartition;

/**
 * How many records wait for a task, as far as the worker's consumer knew when it last fetched: a task sees neither the
 * consumer nor the ends of its partitions, but the consumer's metrics are in the same JVM.
 */
final class ConsumerLag implements Supplier<OptionalLong> {
    private static final String METRICS = "kafka.consumer:type=consumer-fetch-manager-metrics,*";
    private static final String LAG = "records-lag";

    private final String clientId;

    /** @param clientId the consumer's, which the worker makes from the names of connector and task */
    ConsumerLag(String clientId) {
        this.clientId = clientId;
    }

    /** Records over all partitions; empty when the consumer tells nothing, under another client id for example. */
    @Override
    public OptionalLong get() {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        OptionalLong sum = OptionalLong.empty();
        for (ObjectName name : all(server)) {
            OptionalLong lag = isOfPartition(name) ? read(server, name) : OptionalLong.empty();
            if (lag.isPresent()) {
                sum = OptionalLong.of(sum.orElse(0) + lag.getAsLong());
            }
        }
        return sum;
    }

    /** Records of one partition, likewise. */
    OptionalLong of(TopicPartition partition) {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        OptionalLong longest = OptionalLong.empty();
        for (ObjectName name : all(server)) {
            OptionalLong lag = isOf(partition, name) ? read(server, name) : OptionalLong.empty();
            if (lag.isPresent()) {
                longest = OptionalLong.of(Math.max(longest.orElse(0), lag.getAsLong()));
            }
        }
        return longest;
    }

    /** Before Kafka 4.1 metrics have underscores for the dots of a topic, so that two topics may be called the same. */
    private boolean isOf(TopicPartition partition, ObjectName name) {
        String topic = unquoted(name.getKeyProperty("topic"));
        boolean isTopic = partition.topic().equals(topic)
                || partition.topic().replace('.', '_').equals(topic);
        return isTopic
                && isOfPartition(name)
                && Integer.toString(partition.partition()).equals(unquoted(name.getKeyProperty("partition")));
    }

    private static String unquoted(String value) {
        return value != null && value.startsWith("\"") ? ObjectName.unquote(value) : value;
    }

    private static Set<ObjectName> all(MBeanServer server) {
        try {
            return server.queryNames(new ObjectName(METRICS), null);
        } catch (MalformedObjectNameException impossible) {
            throw new IllegalStateException(METRICS, impossible);
        }
    }

    private boolean isOfPartition(ObjectName name) {
        boolean isOurs = clientId.equals(unquoted(name.getKeyProperty("client-id")));
        return isOurs && name.getKeyProperty("partition") != null;
    }

    private static OptionalLong read(MBeanServer server, ObjectName name) {
        try {
            double lag = ((Number) server.getAttribute(name, LAG)).doubleValue();
            return Double.isNaN(lag) ? OptionalLong.empty() : OptionalLong.of((long) lag);
        } catch (JMException | RuntimeMBeanException goneMeanwhile) {
            return OptionalLong.empty();
        }
    }
}
