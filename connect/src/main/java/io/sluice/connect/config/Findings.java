package io.sluice.connect.config;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigValue;

/** The settings as given, right or wrong, and what is wrong with them so far. */
final class Findings {
    private static final Map<String, Object> DEFAULTS = SinkConfig.definition().defaultValues();

    private final Map<String, ConfigValue> values = new HashMap<>();
    private final List<String> warnings = new ArrayList<>();
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

    /** Says of settings that may be meant what often is not; Connect's answer has no place for it, the log has. */
    void warn(String key, String why) {
        warnings.add(key + ": " + why);
    }

    List<String> warnings() {
        return warnings;
    }

    /** Refuses a setting that was changed and does nothing beside the others. */
    void requireEffect(String key, boolean hasEffect, String needed) {
        boolean isRight = values.get(key).errorMessages().isEmpty();
        if (isRight && !hasEffect && isChanged(key)) {
            refuse(key, "got " + given.get(key) + ", expected " + needed + " with it: alone it has no effect");
        }
    }

    /** User interfaces give all settings, most of them with their defaults. */
    private boolean isChanged(String key) {
        Object value = valueOf(key);
        return value != null && !value.equals(DEFAULTS.get(key));
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
