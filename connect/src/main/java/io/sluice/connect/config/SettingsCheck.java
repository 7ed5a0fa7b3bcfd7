package io.sluice.connect.config;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
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
        check.requireWholeDataStream();
        check.requireWholeMapping();
        check.requireWholeProxy();
        check.requireTlsWhereConfigured();
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

    private void requireWholeDataStream() {
        boolean hasType = !isText(SinkConfig.DATA_STREAM_TYPE, "none");
        boolean hasDataset = !isText(SinkConfig.DATA_STREAM_DATASET, "");
        if (hasType && !hasDataset) {
            refuse(SinkConfig.DATA_STREAM_DATASET, "got nothing, expected a value with " + SinkConfig.DATA_STREAM_TYPE);
        }
        if (hasDataset && !hasType) {
            refuse(
                    SinkConfig.DATA_STREAM_TYPE,
                    "got none, expected logs or metrics with " + SinkConfig.DATA_STREAM_DATASET);
        }
        boolean createsOnly = hasDataset
                || String.valueOf(valueOf(SinkConfig.EXTERNAL_RESOURCE_USAGE))
                        .toUpperCase(Locale.ROOT)
                        .endsWith("DATASTREAM");
        if (createsOnly && isText(SinkConfig.WRITE_METHOD, "upsert")) {
            refuse(SinkConfig.WRITE_METHOD, "got upsert, expected insert with a data stream");
        }
        if (createsOnly && isText(SinkConfig.ON_NULL_VALUES, "delete")) {
            refuse(SinkConfig.ON_NULL_VALUES, "got delete, expected ignore or fail with a data stream");
        }
    }

    private void requireWholeMapping() {
        boolean isMapped = valueOf(SinkConfig.TOPIC_TO_EXTERNAL_RESOURCE) instanceof List<?> all && !all.isEmpty();
        boolean isUsed = !isText(SinkConfig.EXTERNAL_RESOURCE_USAGE, "disabled");
        if (isMapped != isUsed) {
            refuse(
                    isMapped ? SinkConfig.EXTERNAL_RESOURCE_USAGE : SinkConfig.TOPIC_TO_EXTERNAL_RESOURCE,
                    isMapped
                            ? "got DISABLED, expected what the targets of " + SinkConfig.TOPIC_TO_EXTERNAL_RESOURCE
                                    + " are"
                            : "got nothing, expected topic:target with " + SinkConfig.EXTERNAL_RESOURCE_USAGE);
        }
    }

    private void requireWholeProxy() {
        boolean hasUser = !isText(SinkConfig.PROXY_USERNAME, "");
        boolean hasPassword = valueOf(SinkConfig.PROXY_PASSWORD) != null;
        if (hasUser != hasPassword) {
            refuse(
                    hasUser ? SinkConfig.PROXY_PASSWORD : SinkConfig.PROXY_USERNAME,
                    "got nothing, expected a value with "
                            + (hasUser ? SinkConfig.PROXY_USERNAME : SinkConfig.PROXY_PASSWORD));
        }
        if ((hasUser || hasPassword) && isText(SinkConfig.PROXY_HOST, "")) {
            refuse(SinkConfig.PROXY_HOST, "got nothing, expected a host with credentials for it");
        }
    }

    private void requireTlsWhereConfigured() {
        boolean isPlain = valueOf(SinkConfig.CONNECTION_URL) instanceof List<?> urls
                && urls.stream().anyMatch(url -> url.toString().startsWith("http:"));
        if (isPlain && isText(SinkConfig.SECURITY_PROTOCOL, "ssl")) {
            refuse(
                    SinkConfig.CONNECTION_URL,
                    "got http URLs, expected https with " + SinkConfig.SECURITY_PROTOCOL + "=SSL");
        }
    }

    private boolean isText(String key, String text) {
        return text.equalsIgnoreCase(String.valueOf(valueOf(key)));
    }

    private Object valueOf(String key) {
        return values.get(key).value();
    }

    private void refuse(String key, String why) {
        values.get(key).addErrorMessage(key + ": " + why);
    }
}
