package io.sluice.connect.config;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigValue;

/** The settings as given, right or wrong, and what is wrong with them so far. */
final class Findings {
    private final Map<String, ConfigValue> values = new HashMap<>();

    Findings(List<ConfigValue> all) {
        all.forEach(value -> values.put(value.name(), value));
    }

    /** The value of a setting, or {@code null} if it is missing or of the wrong type. */
    Object valueOf(String key) {
        return values.get(key).value();
    }

    boolean isText(String key, String text) {
        return text.equalsIgnoreCase(String.valueOf(valueOf(key)));
    }

    void refuse(String key, String why) {
        values.get(key).addErrorMessage(key + ": " + why);
    }

    /** Refuses one of two settings that go together if it is missing. */
    void requireBoth(String one, String other) {
        boolean hasOne = isGiven(one);
        if (hasOne != isGiven(other)) {
            refuse(hasOne ? other : one, "got nothing, expected a value with " + (hasOne ? one : other));
        }
    }

    boolean isGiven(String key) {
        return valueOf(key) != null && !isText(key, "");
    }

    boolean areNone() {
        return values.values().stream().allMatch(value -> value.errorMessages().isEmpty());
    }
}
