package io.sluice.connect;

import io.sluice.connect.config.GivenSettings;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkConnector;

/** Gives each task the connector's settings and a number. */
abstract class NumberingSinkConnector extends SinkConnector {
    /** The setting by which a task learns its number; not one that a user gives. */
    static final String TASK_ID = "task.id";

    private Map<String, String> settings = Map.of();

    @Override
    public void start(Map<String, String> given) {
        // A value may be null, which an immutable copy refuses.
        settings = new HashMap<>(given);
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        List<Map<String, String>> tasks = new ArrayList<>(maxTasks);
        for (int task = 0; task < maxTasks; task++) {
            Map<String, String> taskSettings = new HashMap<>(settings);
            taskSettings.put(TASK_ID, Integer.toString(task));
            tasks.add(taskSettings);
        }
        return tasks;
    }

    /**
     * Says that the offsets are the consumer group's alone: nothing is kept elsewhere that would have to follow them.
     *
     * @param offsets {@code null} where the partition is to be read anew
     */
    @Override
    public boolean alterOffsets(Map<String, String> given, Map<TopicPartition, Long> offsets) {
        List<String> topics = GivenSettings.topics(given);
        offsets.forEach((partition, offset) -> {
            boolean isOurs = topics.isEmpty() || topics.contains(partition.topic());
            if (offset != null && (offset < 0 || !isOurs)) {
                String expected = isOurs ? "an offset >= 0" : "partitions of " + String.join(", ", topics);
                throw new ConnectException("got offset " + offset + " for " + partition + ", expected " + expected);
            }
        });
        return true;
    }

    @Override
    public void stop() {
        // A connector without a thread of its own has nothing to stop.
    }

    @Override
    public String version() {
        return Version.get();
    }
}
