package io.sluice.connect.metrics;

import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/**
 * The metrics of one task in JMX.
 *
 * <p>Readers over HTTP mostly ask attribute by attribute. So that what they see is of one instant, a snapshot is kept
 * until an attribute is asked for the second time, or the snapshot is a second old.
 */
public final class SinkTaskMBean implements DynamicMBean, AutoCloseable {
    private static final long LONGEST_SNAPSHOT_NANOS = 1_000_000_000L;
    private static final Map<ObjectName, SinkTaskMBean> REGISTERED = new HashMap<>();

    private final ObjectName name;
    private final Supplier<Map<String, Object>> snapshots;
    private final Set<String> asked = new HashSet<>();
    private Map<String, Object> snapshot;
    private long takenAtNanos;

    private SinkTaskMBean(ObjectName name, Supplier<Map<String, Object>> snapshots) {
        this.name = name;
        this.snapshots = snapshots;
        this.snapshot = snapshots.get();
    }

    /** Registers the metrics of one task, in place of those of a task of its name that has not stopped yet. */
    public static SinkTaskMBean register(String connector, String task, SinkMetrics metrics) {
        try {
            SinkTaskMBean bean = new SinkTaskMBean(objectName(connector, task), metrics::snapshot);
            synchronized (REGISTERED) {
                unregister(bean.name);
                ManagementFactory.getPlatformMBeanServer().registerMBean(bean, bean.name);
                REGISTERED.put(bean.name, bean);
            }
            return bean;
        } catch (JMException error) {
            throw new IllegalStateException("metrics of " + connector + ", task " + task + ": cannot register", error);
        }
    }

    private static ObjectName objectName(String connector, String task) throws MalformedObjectNameException {
        boolean needsQuotes = connector.chars().anyMatch(c -> ",=:\"*?\n".indexOf(c) >= 0);
        String value = needsQuotes ? ObjectName.quote(connector) : connector;
        return new ObjectName("sluice.connect:type=sink-task-metrics,connector=" + value + ",task=" + task);
    }

    private static void unregister(ObjectName name) throws JMException {
        if (ManagementFactory.getPlatformMBeanServer().isRegistered(name)) {
            ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
        }
    }

    /** A worker does not wait for ever for a task to stop; one that stops late leaves its successor's metrics alone. */
    @Override
    public void close() {
        try {
            synchronized (REGISTERED) {
                if (REGISTERED.remove(name, this)) {
                    unregister(name);
                }
            }
        } catch (JMException error) {
            throw new IllegalStateException(name + ": cannot unregister", error);
        }
    }

    @Override
    public synchronized Object getAttribute(String attribute) throws AttributeNotFoundException {
        boolean isOld = System.nanoTime() - takenAtNanos > LONGEST_SNAPSHOT_NANOS;
        if (isOld || !asked.add(attribute)) {
            takeSnapshot();
            asked.add(attribute);
        }
        Object value = snapshot.get(attribute);
        if (value == null) {
            throw new AttributeNotFoundException(attribute);
        }
        return valueOf(attribute, value);
    }

    /** Works out, once for each snapshot, what is worked out only when it is read. */
    private Object valueOf(String attribute, Object value) {
        if (!(value instanceof Supplier<?> supplier)) {
            return value;
        }
        Object worked = supplier.get();
        snapshot.put(attribute, worked);
        return worked;
    }

    @Override
    public synchronized AttributeList getAttributes(String[] attributes) {
        takeSnapshot();
        AttributeList values = new AttributeList();
        for (String attribute : attributes) {
            if (snapshot.containsKey(attribute)) {
                values.add(new Attribute(attribute, valueOf(attribute, snapshot.get(attribute))));
            }
        }
        return values;
    }

    private void takeSnapshot() {
        snapshot = snapshots.get();
        takenAtNanos = System.nanoTime();
        asked.clear();
    }

    @Override
    public MBeanInfo getMBeanInfo() {
        MBeanAttributeInfo[] attributes = snapshots.get().entrySet().stream()
                .map(SinkTaskMBean::attributeInfo)
                .toArray(MBeanAttributeInfo[]::new);
        return new MBeanInfo(
                getClass().getName(), "What one sink task has done since its start", attributes, null, null, null);
    }

    private static MBeanAttributeInfo attributeInfo(Map.Entry<String, Object> attribute) {
        String type = attribute.getValue() instanceof Long ? "long" : String.class.getName();
        return new MBeanAttributeInfo(attribute.getKey(), type, attribute.getKey(), true, false, false);
    }

    @Override
    public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
        throw new AttributeNotFoundException(attribute.getName() + " is read-only");
    }

    @Override
    public AttributeList setAttributes(AttributeList attributes) {
        return new AttributeList();
    }

    @Override
    public Object invoke(String action, Object[] parameters, String[] signature) {
        throw new UnsupportedOperationException(action);
    }
}
