package io.sluice.connect.metrics;

/** What became of a record, once and for all. */
public enum Fate {
    INDEXED,
    UPDATED,
    DELETED,
    /** The cluster holds it already, or holds nothing to delete: an earlier attempt of ours came through. */
    ALREADY_THERE,
    /** A newer version is stored. */
    STALE,
    DEAD_LETTERED,
    /** Let go because the configuration says so. */
    DROPPED
}
