package io.sluice.connect.config;

/** What the target of a topic is when the user made it himself. */
public enum ExternalResource {
    DISABLED,
    INDEX,
    DATASTREAM,
    ALIAS_INDEX,
    ALIAS_DATASTREAM;

    boolean isDataStream() {
        return this == DATASTREAM || this == ALIAS_DATASTREAM;
    }
}
