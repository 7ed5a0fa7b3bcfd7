package io.sluice.connect.bulk;

import java.util.OptionalLong;

/**
 * How often a bulk request was tried.
 *
 * @param sent how often it was sent since some of its operations were completed
 * @param counted how many failures there were that waiting alone may not cure
 * @param failingSinceNanos when the first failure came since some of its operations were completed
 */
record Attempts(int sent, int counted, OptionalLong failingSinceNanos) {
    static final Attempts NONE = new Attempts(0, 0, OptionalLong.empty());

    Attempts andSent() {
        return new Attempts(sent + 1, counted, failingSinceNanos);
    }

    Attempts andCounted() {
        return new Attempts(sent, counted + 1, failingSinceNanos);
    }

    Attempts andFailed(long nowNanos) {
        return new Attempts(sent, counted, OptionalLong.of(failingSinceNanos.orElse(nowNanos)));
    }

    /** Some operations were completed: patience starts afresh. */
    Attempts andProgressed() {
        return new Attempts(0, counted, OptionalLong.empty());
    }
}
