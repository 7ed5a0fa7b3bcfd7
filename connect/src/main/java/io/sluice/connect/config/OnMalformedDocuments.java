package io.sluice.connect.config;

/** What becomes of a record that is no document, or that Elasticsearch rejects. */
public enum OnMalformedDocuments {
    IGNORE,
    WARN,
    REPORT,
    FAIL
}
