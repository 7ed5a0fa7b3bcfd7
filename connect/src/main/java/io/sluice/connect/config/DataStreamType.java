package io.sluice.connect.config;

/** The first part of a data stream's name. */
public enum DataStreamType {
    NONE,
    LOGS,
    METRICS
}
