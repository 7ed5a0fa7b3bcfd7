package io.sluice.connect.config;

/** What becomes of a record without a value. */
public enum OnNullValues {
    IGNORE,
    DELETE,
    FAIL
}
