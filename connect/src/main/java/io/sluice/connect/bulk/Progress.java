package io.sluice.connect.bulk;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;

/** What got through and when: the evidence by which a failure is put down to a document, a target or the cluster. */
final class Progress {
    /** With dates in their names there are ever new targets. */
    private static final int MOST_TARGETS = 1_000;

    private final Map<String, Long> storedAtNanos = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Long> eldest) {
            return size() > MOST_TARGETS;
        }
    };
    private OptionalLong acceptedAtNanos = OptionalLong.empty();
    private OptionalLong lastStoredAtNanos = OptionalLong.empty();

    /** A request was accepted, whatever became of its items. */
    synchronized void accepted(long nowNanos) {
        acceptedAtNanos = OptionalLong.of(nowNanos);
    }

    /** A document of this target was stored. */
    synchronized void stored(String target, long nowNanos) {
        storedAtNanos.put(target, nowNanos);
        lastStoredAtNanos = OptionalLong.of(nowNanos);
    }

    synchronized boolean isAnyAccepted() {
        return acceptedAtNanos.isPresent();
    }

    synchronized boolean isAnyAcceptedSince(long nanos) {
        return acceptedAtNanos.isPresent() && acceptedAtNanos.getAsLong() - nanos >= 0;
    }

    synchronized boolean isStoredSince(String target, long nanos) {
        Long stored = storedAtNanos.get(target);
        return stored != null && stored - nanos >= 0;
    }

    synchronized boolean isAnotherStored(String target) {
        return storedAtNanos.size() > (storedAtNanos.containsKey(target) ? 1 : 0);
    }

    /** The last time that a document of any target was stored, or {@code nanos} if that is later. */
    synchronized long lastStoredAtNanos(long nanos) {
        boolean isLater = lastStoredAtNanos.isPresent() && lastStoredAtNanos.getAsLong() - nanos > 0;
        return isLater ? lastStoredAtNanos.getAsLong() : nanos;
    }
}
