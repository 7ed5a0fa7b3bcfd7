package io.sluice.connect.config;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigValue;

/** The settings as given, right or wrong, and what is wrong with them so far. */
final class Findings {
    private final Map<String, ConfigValue> values = new HashMap<>();
    private final Map<String, String> given;

    /** @param given the worker's own settings among them */
    Findings(List<ConfigValue> all, Map<String, String> given) {
        this.given = given;
        all.forEach(value -> values.put(value.name(), value));
    }

    /** The value of a setting, or {@code null} if it is missing or of the wrong type. */
    Object valueOf(String key) {
        return values.get(key).value();
    }

    /** The values of a setting, none if it is missing or of the wrong type. */
    List<String> listOf(String key) {
        return valueOf(key) instanceof List<?> all
                ? all.stream().map(String::valueOf).toList()
                : List.of();
    }

    Map<String, String> given() {
        return given;
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
