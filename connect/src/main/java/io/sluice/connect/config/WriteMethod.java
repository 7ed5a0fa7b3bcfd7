package io.sluice.connect.config;

/** How a document is written: whole, or merged into the stored one. */
public enum WriteMethod {
    INSERT,
    UPSERT
}
