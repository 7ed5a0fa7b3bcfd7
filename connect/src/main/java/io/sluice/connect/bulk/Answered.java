package io.sluice.connect.bulk;

/**
 * One answered request, as the limits see it.
 *
 * @param sentAtNanos when this attempt was sent, so that no wait for an attempt counts as the cluster's time
 * @param work what the cluster decided, in {@link #work}
 * @param heldBack whether the limits, and nothing else, kept more from being sent
 * @param full whether the request was as large as the limits allowed
 */
record Answered(long sentAtNanos, long nowNanos, long work, boolean heldBack, boolean full) {
    /** What a document costs beside its bytes, in bytes: small documents do not make a cluster slower. */
    private static final long BYTES_PER_DOCUMENT = 1 << 10;

    /** Documents and bytes as one amount, so that neither a change of sizes nor larger requests look like a change of rate. */
    static long work(int documents, long bytes) {
        return documents * BYTES_PER_DOCUMENT + bytes;
    }
}
