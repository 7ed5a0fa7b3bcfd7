package io.sluice.connect.config;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Recommender;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.ConfigDef.Validator;
import org.apache.kafka.common.config.ConfigDef.Width;

/** Settings that the README and the user interfaces of Kafka and Confluent show under one title, in this order. */
final class SettingsGroup {
    private final ConfigDef definition;
    private final String title;
    private int size;

    SettingsGroup(ConfigDef definition, String title) {
        this.definition = definition;
        this.title = title;
    }

    Setting flag(String key, String displayName) {
        return new Setting(key, displayName, Type.BOOLEAN, Width.SHORT, false);
    }

    Setting number(String key, String displayName, int byDefault) {
        return new Setting(key, displayName, Type.INT, Width.SHORT, byDefault);
    }

    Setting number(String key, String displayName, long byDefault) {
        return new Setting(key, displayName, Type.LONG, Width.SHORT, byDefault);
    }

    Setting text(String key, String displayName) {
        return new Setting(key, displayName, Type.STRING, Width.MEDIUM, "");
    }

    Setting list(String key, String displayName) {
        return new Setting(key, displayName, Type.LIST, Width.LONG, "");
    }

    Setting secret(String key, String displayName) {
        return new Setting(key, displayName, Type.PASSWORD, Width.MEDIUM, null);
    }

    /** One of an enum's constants; user interfaces offer them in the case of the default. */
    Setting choice(String key, String displayName, Class<? extends Enum<?>> choices, String byDefault) {
        Setting choice = new Setting(key, displayName, Type.STRING, Width.SHORT, byDefault);
        choice.accepts(Accepts.oneOf(choices));
        boolean isUpper = byDefault.equals(byDefault.toUpperCase(Locale.ROOT));
        choice.offered = new Choices(Arrays.stream(choices.getEnumConstants())
                .map(Enum::name)
                .map(name -> isUpper ? name : name.toLowerCase(Locale.ROOT))
                .collect(Collectors.<Object>toList()));
        return choice;
    }

    /** One setting: of low importance, and accepting all of its type, unless it says otherwise. */
    final class Setting {
        private final String key;
        private final String displayName;
        private final Type type;
        private final Width width;
        private Object byDefault;
        private Validator accepted;
        private Importance importance = Importance.LOW;
        private Recommender offered;

        private Setting(String key, String displayName, Type type, Width width, Object byDefault) {
            this.key = key;
            this.displayName = displayName;
            this.type = type;
            this.width = width;
            this.byDefault = byDefault;
        }

        Setting byDefault(Object value) {
            byDefault = value;
            return this;
        }

        Setting accepts(Validator validator) {
            accepted = validator;
            return this;
        }

        Setting importance(Importance given) {
            importance = given;
            return this;
        }

        /** Completes the definition. */
        void means(String documentation) {
            definition.define(
                    key,
                    type,
                    byDefault,
                    accepted,
                    importance,
                    documentation,
                    title,
                    ++size,
                    width,
                    displayName,
                    offered);
        }
    }

    private record Choices(List<Object> all) implements Recommender {
        @Override
        public List<Object> validValues(String name, Map<String, Object> parsed) {
            return all;
        }

        @Override
        public boolean visible(String name, Map<String, Object> parsed) {
            return true;
        }
    }
}
