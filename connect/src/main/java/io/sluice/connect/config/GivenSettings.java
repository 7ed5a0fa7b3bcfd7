package io.sluice.connect.config;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A connector's settings as the worker hands them over, its own among them. */
public final class GivenSettings {
    private static final String TOPICS = "topics";

    private GivenSettings() {}

    /**
     * Those that say something: templates leave a key empty where nothing is meant.
     *
     * <p>One key is given by an empty value: the check of host names, which that switches off.
     */
    static Map<String, String> withoutBlanks(Map<String, String> settings) {
        Map<String, String> given = new HashMap<>(settings);
        given.entrySet()
                .removeIf(setting -> setting.getValue() == null
                        || setting.getValue().isBlank()
                                && !setting.getKey().equals(TlsSettings.ENDPOINT_IDENTIFICATION));
        return given;
    }

    /** The topics given by name; none are where a pattern describes them. */
    public static List<String> topics(Map<String, String> settings) {
        String topics = settings.get(TOPICS);
        return Arrays.stream(topics == null ? new String[0] : topics.split(","))
                .map(String::trim)
                .filter(topic -> !topic.isEmpty())
                .collect(Collectors.toList());
    }
}
