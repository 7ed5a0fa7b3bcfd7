package io.sluice.connect.config;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigValue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds all that is wrong with the settings at once: each alone first, then those that contradict one another. */
public final class SettingsCheck {
    private static final Logger LOG = LoggerFactory.getLogger(SettingsCheck.class);

    private SettingsCheck() {}

    public static Config of(Map<String, String> settings) {
        Map<String, String> given = GivenSettings.withoutBlanks(settings);
        List<ConfigValue> all = SinkConfig.definition().validate(given);
        Findings findings = new Findings(all, given);
        ConnectionSettings.check(findings);
        ProxySettings.check(findings);
        TlsSettings.check(findings);
        RetrySettings.check(findings);
        IdentitySettings.check(findings);
        TargetSettings.check(findings);
        WriteSettings.check(findings);
        DocumentSettings.check(findings);
        UnknownKeys.check(findings);
        if (findings.areNone()) {
            findings.warnings().forEach(warning -> LOG.warn("{}: {}", given.get("name"), warning));
        }
        return new Config(all);
    }
}
