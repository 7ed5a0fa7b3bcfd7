package io.sluice.connect.bulk;

import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.config.WriteMethod;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.encode.Operation.Kind;
import io.sluice.connect.stored.IndexTraits;
import io.sluice.connect.stored.Likeness;
import io.sluice.connect.stored.StoredDocument;
import java.util.Set;

/**
 * Whose the stored document is that an operation met.
 *
 * @param areVersionsOffsets whether the version of a keyed document is its record's offset
 * @param doubt why the settings let a stored document be another than was sent, empty if there is no reason
 */
record ConflictRules(boolean areVersionsOffsets, String doubt) {
    static final String TAKEN =
            "another document has this _id; the topic may have been created again, a topic of this name"
                    + " on another cluster may write to this index, or the settings that make documents have changed; use id.prefix"
                    + " or another index";
    static final String SAME_VERSION = "another document has this _id and this version; the topic may have been created"
            + " again, another topic, partition or cluster may write to this _id, or the settings that make documents have"
            + " changed; use external.version.header or another index";
    static final String BEYOND_END =
            "the stored version lies beyond the end of the record's partition, so that every update"
                    + " would be ignored; the topic may have been created again, or another topic, partition, cluster or program"
                    + " writes to this _id; use external.version.header or another index";

    private static final String NOT_OURS = "the cluster or a pipeline made this _id, and a document has it already";

    /** The cluster, not the document, is the trouble, and may get well. */
    private static final Set<String> PASSING = Set.of(
            "index_not_found_exception",
            "no_shard_available_action_exception",
            "unavailable_shards_exception",
            "es_rejected_execution_exception",
            "rejected_execution_exception",
            "node_not_connected_exception",
            "node_disconnected_exception",
            "node_closed_exception",
            "receive_timeout_transport_exception",
            "circuit_breaking_exception");

    static ConflictRules of(SinkConfig config) {
        boolean areVersioned = config.writing().writeMethod() == WriteMethod.INSERT
                && config.identity().externalVersionHeader().isEmpty();
        String transform = config.documents().foreignTransform();
        String doubt = config.documents().pipeline().isEmpty() ? "" : "the pipeline may change documents";
        return new ConflictRules(
                areVersioned,
                doubt.isEmpty() && !transform.isEmpty()
                        ? "the transformation " + transform + " may make another document of a record each time"
                        : doubt);
    }

    /** @param traits {@code null} where they are not known */
    ConflictVerdict judge(Conflict conflict, StoredDocument stored, IndexTraits traits) {
        if (stored.error() != null) {
            return ofUnavailable(conflict, stored.error());
        }
        Operation operation = conflict.operation();
        boolean isDelete = operation.kind() == Kind.DELETE;
        if (!stored.found()) {
            return ofMissing(conflict, isDelete);
        }
        boolean isVersioned = operation.kind() != Kind.CREATE && operation.hasId() && !conflict.isBeyondEnd();
        if (isVersioned && stored.version() != operation.version()) {
            return stored.version() > operation.version() ? ConflictVerdict.STALE : ConflictVerdict.AGAIN;
        }
        if (isDelete) {
            return new ConflictVerdict.Taken(conflict.isBeyondEnd() ? BEYOND_END : SAME_VERSION);
        }
        Likeness likeness = stored.likenessTo(operation.line(1));
        return conflict.isBeyondEnd() ? ofBeyondEnd(likeness) : ofLikeness(conflict, stored, likeness, traits);
    }

    private static ConflictVerdict ofMissing(Conflict conflict, boolean isDelete) {
        if (conflict.isBeyondEnd()) {
            return ConflictVerdict.STALE;
        }
        return isDelete ? ConflictVerdict.OWN : ConflictVerdict.MISSING;
    }

    private static ConflictVerdict ofUnavailable(Conflict conflict, String error) {
        if (PASSING.contains(error)) {
            return ConflictVerdict.AGAIN;
        }
        if (conflict.isBeyondEnd()) {
            return new ConflictVerdict.Taken(BEYOND_END);
        }
        return untold(
                conflict,
                error.equals("security_exception")
                        ? "the account lacks the privilege read"
                        : "the cluster does not give the stored document (" + error + ")");
    }

    /** Whoever changes a document of ours raises its version, so that it may pass the end with nothing lost. */
    private static ConflictVerdict ofBeyondEnd(Likeness likeness) {
        return likeness == Likeness.EQUAL || likeness == Likeness.EXTENDED
                ? ConflictVerdict.STALE
                : new ConflictVerdict.Taken(BEYOND_END);
    }

    private ConflictVerdict ofLikeness(
            Conflict conflict, StoredDocument stored, Likeness likeness, IndexTraits traits) {
        if (likeness == Likeness.EQUAL) {
            return ConflictVerdict.OWN;
        }
        if (likeness == Likeness.UNREADABLE) {
            return untold(conflict, "the stored document has no _source that can be compared");
        }
        if (!doubt.isEmpty() && conflict.isIdOurs()) {
            return untold(conflict, doubt);
        }
        boolean isCreate = conflict.operation().kind() == Kind.CREATE;
        if (isCreate && stored.version() > 1) {
            return untold(conflict, "the stored document was changed after it was created");
        }
        if (traits == null) {
            return ConflictVerdict.DEPENDS_ON_INDEX;
        }
        if (traits.isSynthetic() && stored.isSyntheticOf(conflict.operation().line(1))) {
            return ConflictVerdict.OWN;
        }
        if (!traits.doubt().isEmpty() || likeness == Likeness.PART) {
            return untold(conflict, traits.doubt().isEmpty() ? "_source lacks fields that were sent" : traits.doubt());
        }
        return conflict.isIdOurs()
                ? new ConflictVerdict.Taken(isCreate ? TAKEN : SAME_VERSION)
                : new ConflictVerdict.Taken(NOT_OURS);
    }

    /** The verdict on an operation whose document was missing again and again. */
    static ConflictVerdict ofEverMissing(Conflict conflict) {
        return untold(conflict, "the cluster does not find the stored document");
    }

    private static ConflictVerdict untold(Conflict conflict, String why) {
        return conflict.isIdOurs()
                ? new ConflictVerdict.Untold(why)
                : new ConflictVerdict.Taken(NOT_OURS + "; whether it is this record's cannot be told: " + why);
    }
}
