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
    /** Stored in the data stream's failure store, and not in the data stream. */
    REDIRECTED,
    /** An ingest pipeline of the cluster dropped the document. */
    DROPPED_BY_PIPELINE,
    DEAD_LETTERED,
    /** Let go because the configuration says so. */
    DROPPED
}
