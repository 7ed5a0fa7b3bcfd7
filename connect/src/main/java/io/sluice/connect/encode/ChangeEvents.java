package io.sluice.connect.encode;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.connect.data.Struct;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Warns once for each topic whose values are Debezium's change events, out of which no transform took the row. */
final class ChangeEvents {
    private static final Logger LOG = LoggerFactory.getLogger(ChangeEvents.class);

    /** A transformation may name a topic after anything. */
    private static final int MOST_TOPICS = 1_000;

    private final Set<String> topics = new HashSet<>();

    /** Costs a row one look for a field that it does not have. */
    void note(String topic, Object value) {
        if (isEvent(value) && topics.size() < MOST_TOPICS && topics.add(topic)) {
            LOG.warn(
                    "Topic {}: got Debezium's change events (op, before, after, source) and indexes them as they are;"
                            + " the transform io.debezium.transforms.ExtractNewRecordState indexes the row alone",
                    topic);
        }
    }

    /** By its fields: without a schema an event has no name, and with one its name may have been changed. */
    private static boolean isEvent(Object value) {
        return TopLevel.field(value, "op") instanceof String
                && hasFields(TopLevel.field(value, "source"))
                && (hasFields(TopLevel.field(value, "after")) || hasFields(TopLevel.field(value, "before")));
    }

    private static boolean hasFields(Object value) {
        return value instanceof Struct || value instanceof Map;
    }
}
