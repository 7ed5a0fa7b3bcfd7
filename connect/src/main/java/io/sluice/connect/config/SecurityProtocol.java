package io.sluice.connect.config;

/** Whether the connections to Elasticsearch use the TLS settings given. */
public enum SecurityProtocol {
    PLAINTEXT,
    SSL
}
