package io.sluice.connect.bulk;

import io.sluice.connect.cluster.ClusterClient;
import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.stored.IndexTraits;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells of items answered 409 whether the stored document is the record's own, from an earlier attempt, or another record's:
 * asks for the stored documents and compares them with what was sent.
 *
 * <p>Where that cannot be told, an id of ours is taken for the record's own, with a warning for each target.
 */
final class ConflictCheck {
    private static final Logger LOG = LoggerFactory.getLogger(ConflictCheck.class);
    private static final long TRAITS_VALID_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int MOST_MISSES = 3;
    private static final int MOST_TARGETS = 1_000;

    private final ClusterClient client;
    private final ConflictRules rules;
    private final LongSupplier nanoTime;
    private final Map<String, KnownTraits> traits = new ConcurrentHashMap<>();
    private final Set<String> said = ConcurrentHashMap.newKeySet();

    private record KnownTraits(IndexTraits traits, long atNanos) {}

    ConflictCheck(ClusterClient client, SinkConfig config, LongSupplier nanoTime) {
        this.client = client;
        this.rules = ConflictRules.of(config);
        this.nanoTime = nanoTime;
    }

    /** Hands the answer on once the outcome of each of its items is known; nothing is asked where no item is in doubt. */
    void check(Bulk bulk, BulkAnswer answer, BulkClient.Listener listener) {
        if (answer.conflicts().isEmpty()) {
            listener.answered(bulk, answer);
        } else {
            new ConflictInquiry(this, bulk, answer, listener).begin();
        }
    }

    ClusterClient client() {
        return client;
    }

    ConflictRules rules() {
        return rules;
    }

    long nanoTime() {
        return nanoTime.getAsLong();
    }

    /** What is known of an index, {@code null} if that is too old. */
    IndexTraits traitsOf(String index) {
        KnownTraits known = traits.get(index);
        return known != null && nanoTime() - known.atNanos() < TRAITS_VALID_NANOS ? known.traits() : null;
    }

    void note(String index, IndexTraits found) {
        if (traits.size() >= MOST_TARGETS) {
            traits.clear();
        }
        traits.put(index, new KnownTraits(found, nanoTime()));
    }

    /** A document that is missing comes with the next attempt, unless a routing or a privilege hides it. */
    void note(Bulk bulk, BulkAnswer answer, Conflict conflict, ConflictVerdict verdict) {
        if (verdict instanceof ConflictVerdict.Missing) {
            boolean isOften = conflict.operation().countAttempt(nanoTime()) > MOST_MISSES;
            note(bulk, answer, conflict, isOften ? ConflictRules.ofEverMissing(conflict) : ConflictVerdict.AGAIN);
        } else if (verdict instanceof ConflictVerdict.Taken taken) {
            answer.reject(conflict.item(), taken.reason());
            if (isNew(bulk.index() + taken.reason())) {
                LOG.error(
                        "{}: {}: {}",
                        bulk.index(),
                        conflict.operation().delivery().origin(),
                        taken.reason());
            }
        } else if (verdict instanceof ConflictVerdict.Untold untold) {
            answer.decide(conflict.item(), Outcome.ALREADY_THERE);
            if (isNew(bulk.index() + untold.reason())) {
                LOG.warn(
                        "{}: cannot tell whether stored documents are those of their records, counted as already there: {};"
                                + " first record {}",
                        bulk.index(),
                        untold.reason(),
                        conflict.operation().delivery().origin());
            }
        } else {
            answer.decide(conflict.item(), outcome(verdict));
        }
    }

    private static Outcome outcome(ConflictVerdict verdict) {
        if (verdict instanceof ConflictVerdict.Again) {
            return Outcome.AGAIN;
        }
        return verdict instanceof ConflictVerdict.Stale ? Outcome.STALE : Outcome.ALREADY_THERE;
    }

    private boolean isNew(String what) {
        if (said.size() >= MOST_TARGETS) {
            said.clear();
        }
        return said.add(what);
    }
}
