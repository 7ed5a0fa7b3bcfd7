package io.sluice.connect;

import io.sluice.connect.cluster.ClusterCheck;
import io.sluice.connect.config.SettingsCheck;
import io.sluice.connect.config.SinkConfig;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;

/** Streams records into Elasticsearch 7.17 to 9.x; see the README for its settings. */
public final class ElasticsearchSinkConnector extends SinkConnector {
    /** The setting by which a task learns its number; not one that a user gives. */
    static final String TASK_ID = "task.id";

    private Map<String, String> settings = Map.of();

    @Override
    public void start(Map<String, String> given) {
        settings = Map.copyOf(given);
    }

    @Override
    public Class<? extends Task> taskClass() {
        return ElasticsearchSinkTask.class;
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

    @Override
    public Config validate(Map<String, String> given) {
        Config judged = SettingsCheck.of(given);
        ClusterCheck.complete(judged, given);
        return judged;
    }

    @Override
    public ConfigDef config() {
        return SinkConfig.definition();
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
