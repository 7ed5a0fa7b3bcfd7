package io.sluice.connect;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;

/** Reads every record and stores nothing: what Kafka and Connect cost before any sink does anything. */
public final class DiscardSinkConnector extends NumberingSinkConnector {
    @Override
    public Class<? extends Task> taskClass() {
        return DiscardSinkTask.class;
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }
}
