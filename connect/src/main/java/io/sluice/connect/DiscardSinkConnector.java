package io.sluice.connect;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;

/** Reads every record and stores nothing: what Kafka and Connect cost before any sink does anything. */
public final class DiscardSinkConnector extends SinkConnector {
    private Map<String, String> settings = Map.of();

    @Override
    public void start(Map<String, String> given) {
        settings = Map.copyOf(given);
    }

    @Override
    public Class<? extends Task> taskClass() {
        return DiscardSinkTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        List<Map<String, String>> tasks = new ArrayList<>(maxTasks);
        for (int task = 0; task < maxTasks; task++) {
            Map<String, String> taskSettings = new HashMap<>(settings);
            taskSettings.put(ElasticsearchSinkConnector.TASK_ID, Integer.toString(task));
            tasks.add(taskSettings);
        }
        return tasks;
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
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
