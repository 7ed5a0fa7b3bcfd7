package io.sluice.connect.bulk;

import java.util.OptionalLong;

/**
 * How often a bulk request was tried.
 *
 * @param sent how often it was sent since some of its operations were completed
 * @param counted how many failures there were that waiting alone may not cure
 * @param failures how often in a row it failed as a whole, though a node was there
 * @param failingSinceNanos when the first failure came since some of its operations were completed
 */
record Attempts(int sent, int counted, int failures, OptionalLong failingSinceNanos) {
    static final Attempts NONE = new Attempts(0, 0, 0, OptionalLong.empty());

    Attempts andSent() {
        return new Attempts(sent + 1, counted, failures, failingSinceNanos);
    }

    Attempts andCounted() {
        return new Attempts(sent, counted + 1, failures, failingSinceNanos);
    }

    Attempts andFailure() {
        return new Attempts(sent, counted, failures + 1, failingSinceNanos);
    }

    Attempts andFailed(long nowNanos) {
        return new Attempts(sent, counted, failures, OptionalLong.of(failingSinceNanos.orElse(nowNanos)));
    }

    /** Some operations were completed: patience starts afresh. */
    Attempts andProgressed() {
        return new Attempts(0, counted, 0, OptionalLong.empty());
    }

    /** The request is another one, and nothing got through yet. */
    Attempts andHalved() {
        return new Attempts(0, counted, 0, failingSinceNanos);
    }
}
