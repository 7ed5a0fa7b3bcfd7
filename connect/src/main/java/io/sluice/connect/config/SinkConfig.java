package io.sluice.connect.config;

import java.util.Map;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;

/** The connector's settings by what they are about; each was refused or accepted before this object exists. */
public record SinkConfig(
        ConnectionSettings connection,
        ProxySettings proxy,
        TlsSettings tls,
        RequestSettings requests,
        BufferSettings buffers,
        RetrySettings retries,
        IdentitySettings identity,
        TargetSettings targets,
        WriteSettings writing,
        DocumentSettings documents) {
    public SinkConfig(Map<String, String> settings) {
        this(new Values(definition(), GivenSettings.withoutBlanks(settings)));
    }

    private SinkConfig(AbstractConfig values) {
        this(
                new ConnectionSettings(values),
                new ProxySettings(values),
                new TlsSettings(values),
                new RequestSettings(values),
                new BufferSettings(values),
                new RetrySettings(values),
                new IdentitySettings(values),
                new TargetSettings(values),
                new WriteSettings(values),
                new DocumentSettings(values));
    }

    /** Every key with its type, default and what it accepts, by groups in the order of the README. */
    public static ConfigDef definition() {
        ConfigDef definition = new ConfigDef();
        ConnectionSettings.define(definition);
        TlsSettings.define(definition);
        ProxySettings.define(definition);
        TargetSettings.define(definition);
        IdentitySettings.define(definition);
        WriteSettings.define(definition);
        DocumentSettings.define(definition);
        RequestSettings.define(definition);
        BufferSettings.define(definition);
        RetrySettings.define(definition);
        return definition;
    }

    /** Typed values, which are not logged. */
    private static final class Values extends AbstractConfig {
        Values(ConfigDef definition, Map<String, String> settings) {
            super(definition, settings, false);
        }
    }
}
