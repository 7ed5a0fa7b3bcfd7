package io.sluice.connect;

import io.sluice.connect.cluster.ClusterCheck;
import io.sluice.connect.config.SettingsCheck;
import io.sluice.connect.config.SinkConfig;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;

/** Streams records into Elasticsearch 7.17 to 9.x; see the README for its settings. */
public final class ElasticsearchSinkConnector extends NumberingSinkConnector {
    @Override
    public Class<? extends Task> taskClass() {
        return ElasticsearchSinkTask.class;
    }

    /** Asks the cluster on a thread of its own: the worker waits for the connector. */
    @Override
    public void start(Map<String, String> given) {
        super.start(given);
        if (new SinkConfig(given).connection().validated()) {
            Thread asking = new Thread(() -> ClusterCheck.warnOfAliases(given), "sluice-aliases");
            asking.setDaemon(true);
            asking.start();
        }
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
}
