package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;

class DiscardSinkTaskTest {
    private static final MBeanServer BEANS = ManagementFactory.getPlatformMBeanServer();

    private final DiscardSinkTask task = new DiscardSinkTask();

    private static List<SinkRecord> records(int partition, long firstOffset, int count) {
        List<SinkRecord> records = new ArrayList<>();
        for (long offset = firstOffset; offset < firstOffset + count; offset++) {
            records.add(new SinkRecord("books", partition, null, null, null, null, offset));
        }
        return records;
    }

    /** Every record is read and dropped, whatever partitions a poll holds, and the ledger says of which. */
    @Test
    void everyRecordIsCountedAsDropped() throws Exception {
        task.start(Map.of("name", "floor", "task.id", "1"));
        ObjectName bean = new ObjectName("sluice.connect:type=sink-task-metrics,connector=floor,task=1");
        List<SinkRecord> mixed = new ArrayList<>(records(0, 0, 503));
        mixed.addAll(records(2, 0, 1));
        mixed.addAll(records(0, 503, 97));

        task.put(List.of());
        task.put(mixed);
        task.put(records(2, 1, 11));

        assertEquals(612L, BEANS.getAttribute(bean, "RecordsRead"));
        assertEquals(612L, BEANS.getAttribute(bean, "RecordsDropped"));
        assertEquals(0L, BEANS.getAttribute(bean, "RecordsInFlight"));
        String byPartition = (String) BEANS.getAttribute(bean, "LedgerByPartition");
        assertTrue(byPartition.contains("\"books-0\":{\"read\":600,"), byPartition);
        assertTrue(byPartition.contains("\"books-2\":{\"read\":12,"), byPartition);
        task.stop();
        assertFalse(BEANS.isRegistered(bean));
    }

    /** What was handed over may be committed at once. */
    @Test
    void whatWasReadIsCommitted() {
        task.start(Map.of("name", "committing"));
        task.put(records(0, 0, 13));
        Map<TopicPartition, OffsetAndMetadata> consumed =
                Map.of(new TopicPartition("books", 0), new OffsetAndMetadata(13));

        assertEquals(consumed, task.preCommit(consumed));
        task.stop();
    }

    /** A user's worker finds the sink alone; the connector that drops everything is named in a jar of its own. */
    @Test
    void onlyTheLabsWorkersFindTheConnector() throws IOException {
        List<Class<?>> found = new ArrayList<>();
        ServiceLoader.load(SinkConnector.class).forEach(connector -> found.add(connector.getClass()));
        assertEquals(List.of(ElasticsearchSinkConnector.class), found);
        assertEquals(
                DiscardSinkConnector.class.getName() + "\n",
                Files.readString(Path.of("src/main/discard/META-INF/services/" + SinkConnector.class.getName())));
    }

    /** As many tasks as a worker tells it, and no setting of its own. */
    @Test
    void theConnectorNeedsNoSetting() {
        DiscardSinkConnector connector = new DiscardSinkConnector();
        connector.start(Map.of("name", "floor"));
        assertEquals(
                List.of(Map.of("name", "floor", "task.id", "0"), Map.of("name", "floor", "task.id", "1")),
                connector.taskConfigs(2));
        assertEquals(DiscardSinkTask.class, connector.taskClass());
        assertTrue(connector.config().names().isEmpty());
    }
}
