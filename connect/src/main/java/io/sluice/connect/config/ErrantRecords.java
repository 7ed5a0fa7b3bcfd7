package io.sluice.connect.config;

import java.util.Map;

/** What the worker does with the records that a task reports: settings of its own, which stand beside the sink's. */
public final class ErrantRecords {
    private static final String TOLERANCE = "errors.tolerance";
    private static final String QUEUE_TOPIC = "errors.deadletterqueue.topic.name";
    private static final String LOGGED = "errors.log.enable";

    private ErrantRecords() {}

    /** Whether they go to a dead-letter queue; a worker takes a report without one too, and only logs it or fails. */
    public static boolean haveAQueue(Map<String, String> settings) {
        return "all".equalsIgnoreCase(value(settings, TOLERANCE))
                && !value(settings, QUEUE_TOPIC).isEmpty();
    }

    /** Whether the worker logs why each was reported. */
    public static boolean areLogged(Map<String, String> settings) {
        return Boolean.parseBoolean(value(settings, LOGGED));
    }

    private static String value(Map<String, String> settings, String key) {
        String value = settings.get(key);
        return value == null ? "" : value.trim();
    }
}
