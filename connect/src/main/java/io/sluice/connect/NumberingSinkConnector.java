package io.sluice.connect;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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

    @Override
    public void stop() {
        // A connector without a thread of its own has nothing to stop.
    }

    @Override
    public String version() {
        return Version.get();
    }
}
