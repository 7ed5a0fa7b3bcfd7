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

    /** Where {@code _resolve/index} lists such a target, or {@code null} for none. */
    String kind() {
        return switch (this) {
            case DISABLED -> null;
            case INDEX -> "indices";
            case DATASTREAM -> "data_streams";
            case ALIAS_INDEX, ALIAS_DATASTREAM -> "aliases";
        };
    }
}
