package io.sluice.connect.bulk;

/** Says how much may be sent, and hears how that went; its user calls it under one lock. */
interface Limiter {
    Limits limits();

    /** A request was answered and none of it has to go again because the cluster is busy. */
    default void answered(Answered answer) {}

    /**
     * The cluster could not keep up with a request that was sent for the first time: it rejected some of it, or gave no
     * answer in time. Later attempts are no news: they may be in excess of limits that have been lowered since.
     */
    default void overloaded(long sentAtNanos, long nowNanos) {}

    /** A request failed in a way that says nothing on how much the cluster can take. */
    default void failed(long nowNanos) {}

    /** Limits that stay as they are. */
    static Limiter fixed(Limits limits) {
        return () -> limits;
    }
}
