package io.sluice.connect;

import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.metrics.SinkTaskMBean;
import java.util.Collection;
import java.util.Map;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Counts the records of each poll and lets them go; the worker may commit whatever it has handed over. */
public final class DiscardSinkTask extends SinkTask {
    private static final Logger LOG = LoggerFactory.getLogger(DiscardSinkTask.class);

    private final SinkMetrics metrics = new SinkMetrics();
    private String name = "";
    private SinkTaskMBean bean;

    @Override
    public void start(Map<String, String> settings) {
        String connector = settings.getOrDefault("name", "unnamed");
        String task = settings.getOrDefault(NumberingSinkConnector.TASK_ID, "0");
        name = connector + "-" + task;
        bean = SinkTaskMBean.register(connector, task, metrics);
        LOG.info("{}: started; drops every record", name);
    }

    /** Records of one partition come one after the other, so that they are counted run by run. */
    @Override
    public void put(Collection<SinkRecord> records) {
        SinkRecord first = null;
        long run = 0;
        for (SinkRecord record : records) {
            if (first != null && !isOfSamePartition(first, record)) {
                drop(first, run);
                run = 0;
            }
            if (run == 0) {
                first = record;
            }
            run++;
        }
        if (first != null) {
            drop(first, run);
        }
    }

    private static boolean isOfSamePartition(SinkRecord one, SinkRecord other) {
        return one.kafkaPartition().equals(other.kafkaPartition())
                && one.topic().equals(other.topic());
    }

    private void drop(SinkRecord first, long records) {
        metrics.recordsDropped(metrics.ledgerOf(first.topic(), first.kafkaPartition()), records);
    }

    @Override
    public void stop() {
        if (bean != null) {
            bean.close();
            LOG.info("{}: stopped; {}; by partition {}", name, metrics.ledger(), metrics.ledgerByPartition());
        }
    }

    @Override
    public String version() {
        return Version.get();
    }
}
