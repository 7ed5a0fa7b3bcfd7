package io.sluice.connect.bulk;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Which targets were seen to exist a moment ago: one that is deleted must not come back by a bulk request. */
final class ExistenceCache {
    static final long VALID_MS = 1_000;

    private final LongSupplier nanoTime;
    private final Map<String, Long> seenAt = new ConcurrentHashMap<>();

    ExistenceCache(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    boolean areFreshOf(String target) {
        Long nanos = seenAt.get(target);
        return nanos != null && isFresh(nanos, nanoTime.getAsLong());
    }

    /** Those that are too old go: with dates in their names there are ever new targets. */
    void add(String target) {
        long now = nanoTime.getAsLong();
        seenAt.values().removeIf(nanos -> !isFresh(nanos, now));
        seenAt.put(target, now);
    }

    private static boolean isFresh(long nanos, long now) {
        return now - nanos <= TimeUnit.MILLISECONDS.toNanos(VALID_MS);
    }

    int size() {
        return seenAt.size();
    }
}
