package io.sluice.connect.config;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigValue;

/** Finds all that is wrong with the settings at once: each alone first, then those that contradict one another. */
public final class SettingsCheck {
    private static final List<String> KEYED_SETTINGS = List.of(SinkConfig.WRITE_METHOD, SinkConfig.ON_NULL_VALUES);

    private final Map<String, ConfigValue> values = new HashMap<>();

    private SettingsCheck(List<ConfigValue> all) {
        all.forEach(value -> values.put(value.name(), value));
    }

    public static Config of(Map<String, String> settings) {
        ConfigDef definition = SinkConfig.definition();
        List<ConfigValue> all = definition.validate(settings);
        SettingsCheck check = new SettingsCheck(all);
        check.requireKeysWhereNeeded();
        check.requireWholeCredentials();
        check.requireBackoffInOrder();
        return new Config(all);
    }

    private void requireKeysWhereNeeded() {
        if (!Boolean.TRUE.equals(valueOf(SinkConfig.KEY_IGNORE))) {
            return;
        }
        for (String key : KEYED_SETTINGS) {
            String value = String.valueOf(valueOf(key));
            if (value.equalsIgnoreCase("upsert") || value.equalsIgnoreCase("delete")) {
                refuse(SinkConfig.KEY_IGNORE, "got true, expected false with " + key + "=" + value);
            }
        }
    }

    private void requireWholeCredentials() {
        boolean hasUser = valueOf(SinkConfig.CONNECTION_USERNAME) != null;
        boolean hasPassword = valueOf(SinkConfig.CONNECTION_PASSWORD) != null;
        if (hasUser != hasPassword) {
            String missing = hasUser ? SinkConfig.CONNECTION_PASSWORD : SinkConfig.CONNECTION_USERNAME;
            String given = hasUser ? SinkConfig.CONNECTION_USERNAME : SinkConfig.CONNECTION_PASSWORD;
            refuse(missing, "got nothing, expected a value with " + given);
        }
        if (hasUser && valueOf(SinkConfig.CONNECTION_API_KEY) != null) {
            refuse(SinkConfig.CONNECTION_API_KEY, "got a key, expected none with " + SinkConfig.CONNECTION_USERNAME);
        }
    }

    private void requireBackoffInOrder() {
        if (valueOf(SinkConfig.RETRY_BACKOFF_MS) instanceof Long least
                && valueOf(SinkConfig.RETRY_BACKOFF_MAX_MS) instanceof Long most
                && least > most) {
            refuse(
                    SinkConfig.RETRY_BACKOFF_MAX_MS,
                    "got " + most + ", expected at least " + SinkConfig.RETRY_BACKOFF_MS + "=" + least);
        }
    }

    private Object valueOf(String key) {
        return values.get(key).value();
    }

    private void refuse(String key, String why) {
        values.get(key).addErrorMessage(key + ": " + why);
    }
}
