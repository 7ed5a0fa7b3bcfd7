package io.sluice.connect.config;

import java.util.Locale;

/** What of a record's place in Kafka can become a field of its document. */
public enum MetadataField {
    TOPIC,
    PARTITION,
    OFFSET,
    TIMESTAMP,
    KEY,
    HEADERS;

    public String fieldName() {
        return name().toLowerCase(Locale.ROOT);
    }
}
