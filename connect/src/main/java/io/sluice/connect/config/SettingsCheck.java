package io.sluice.connect.config;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigValue;

/** Finds all that is wrong with the settings at once: each alone first, then those that contradict one another. */
public final class SettingsCheck {
    private SettingsCheck() {}

    public static Config of(Map<String, String> settings) {
        List<ConfigValue> all = SinkConfig.definition().validate(settings);
        Findings findings = new Findings(all);
        ConnectionSettings.check(findings);
        ProxySettings.check(findings);
        TlsSettings.check(findings);
        RetrySettings.check(findings);
        IdentitySettings.check(findings);
        TargetSettings.check(findings);
        DocumentSettings.check(findings);
        return new Config(all);
    }
}
