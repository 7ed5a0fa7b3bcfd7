package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.encode.Operation.Kind;
import io.sluice.connect.metrics.Fate;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What an answer means for one item of a bulk request, or for a request that was refused as a whole. */
sealed interface Outcome {
    /** The record needs nothing more. */
    record Completed(Fate fate) implements Outcome {}

    /** The document will never be accepted; its neighbours are not concerned. */
    record Rejected() implements Outcome {}

    /** The cluster is busy, blocked or incomplete: again, for as long as the time bound allows. */
    record Again() implements Outcome {}

    /** A failure that waiting alone may not cure: again, a counted number of times. */
    record AgainCounted() implements Outcome {}

    /** Too large, or one of the documents spoils it: again in two halves, until the one to be rejected is alone. */
    record InHalves() implements Outcome {}

    /** The target is the trouble: no record for it can get through, those for others may. */
    record Unserved() implements Outcome {}

    /** The account or the request is the trouble: no record can get through. */
    record Fatal() implements Outcome {}

    Outcome INDEXED = new Completed(Fate.INDEXED);
    Outcome UPDATED = new Completed(Fate.UPDATED);
    Outcome DELETED = new Completed(Fate.DELETED);
    Outcome ALREADY_THERE = new Completed(Fate.ALREADY_THERE);
    Outcome REDIRECTED = new Completed(Fate.REDIRECTED);
    Outcome DROPPED_BY_PIPELINE = new Completed(Fate.DROPPED_BY_PIPELINE);
    Outcome STALE = new Completed(Fate.STALE);
    Outcome REJECTED = new Rejected();
    Outcome AGAIN = new Again();
    Outcome AGAIN_COUNTED = new AgainCounted();
    Outcome IN_HALVES = new InHalves();
    Outcome UNSERVED = new Unserved();
    Outcome FATAL = new Fatal();

    String INDEX_NOT_FOUND = "index_not_found_exception";
    Set<String> INDEX_TROUBLES = Set.of(INDEX_NOT_FOUND, "index_closed_exception", "invalid_index_name_exception");
    /** What no document is at fault for, though the type is that of documents' faults, too. */
    Pattern TARGET_TROUBLE = Pattern.compile(
            "pipeline with id \\[[^]]*] does not exist|no write index is defined for alias \\[.*"
                    + "|only write ops with an op_type of create are allowed in data streams",
            Pattern.DOTALL);

    /** How Elasticsearch 7 to 9 and OpenSearch say that they cannot read a request because of what stands in it. */
    Pattern ABOUT_CONTENT =
            Pattern.compile("action_request_validation_exception|.*pars(?:e|ing)_exception|json_.*|.*_e_o_f_exception"
                    + "|(?:not_x_content|input_coercion|stream_read|unexpected_end_of_input|class_cast)_exception");

    Pattern CURRENT_VERSION = Pattern.compile("current version \\[(\\d{1,18}|[0-8]\\d{18})\\]");

    /**
     * The outcome of one item; its status tells.
     *
     * @param result what the cluster did where there is no error
     * @param error what was wrong, or {@code null}; its reason only tells stale from already there
     * @param mayCreate whether Elasticsearch may create the index that the item names
     */
    static Outcome ofItem(Operation operation, int status, ItemResult result, ItemError error, boolean mayCreate) {
        Kind kind = operation.kind();
        if (kind == Kind.DELETE && mayCreate && isOfType(error, INDEX_NOT_FOUND)) {
            // Without a version no delete creates the index, and where there is none there is nothing to delete.
            return ALREADY_THERE;
        }
        if (isIndexTrouble(error)) {
            return UNSERVED;
        }
        return switch (status) {
            case 200, 201 -> ofSuccess(kind, status, result);
            case 404 -> kind == Kind.DELETE ? ofMissing(error) : ofNotFound(error);
            // The cluster holds as many shards as it may.
            case 400 -> isOfType(error, "validation_exception") ? AGAIN : REJECTED;
            case 409 -> ofConflict(operation, error);
            case 429, 502, 503, 504 -> AGAIN;
            case 403 -> isOfType(error, "cluster_block_exception") ? AGAIN : AGAIN_COUNTED;
            case 401 -> AGAIN_COUNTED;
            default -> status >= 500 ? AGAIN_COUNTED : REJECTED;
        };
    }

    /** A document that is there is never created: a create answered 200 was not stored, either. */
    private static Outcome ofSuccess(Kind kind, int status, ItemResult result) {
        if (result == ItemResult.REDIRECTED) {
            return REDIRECTED;
        }
        if (result == ItemResult.NOOP || kind == Kind.CREATE && status == 200) {
            // Pipelines do not see updates: one that changes nothing found the document as it should be.
            return kind == Kind.UPDATE || kind == Kind.DELETE ? ALREADY_THERE : DROPPED_BY_PIPELINE;
        }
        return status == 201 ? INDEXED : kind == Kind.DELETE ? DELETED : UPDATED;
    }

    /** Nothing to delete, unless it is not the document that is missing. */
    private static Outcome ofMissing(ItemError error) {
        return error == null ? ALREADY_THERE : AGAIN_COUNTED;
    }

    /** Something that the document or its pipeline names is missing: a model for example, which may come. */
    private static Outcome ofNotFound(ItemError error) {
        return isOfType(error, "document_missing_exception") ? REJECTED : AGAIN_COUNTED;
    }

    private static Outcome ofConflict(Operation operation, ItemError error) {
        if (operation.kind() == Kind.UPDATE) {
            return AGAIN_COUNTED;
        }
        // Where the stored document was not asked for, or does not tell, it is taken for the record's own.
        if (operation.kind() == Kind.CREATE || error == null) {
            return ALREADY_THERE;
        }
        return currentVersion(error) > operation.version() ? STALE : ALREADY_THERE;
    }

    /** The stored version that a conflict names, -1 if it names none. */
    static long currentVersion(ItemError error) {
        Matcher current = CURRENT_VERSION.matcher(error == null ? "" : error.reason());
        return current.find() ? Long.parseLong(current.group(1)) : -1;
    }

    /**
     * The outcome of a request that was refused as a whole.
     *
     * @param isAuthorised whether an earlier request with the same credentials was accepted
     */
    static Outcome ofRequest(int status, ItemError error, boolean isAuthorised) {
        return switch (status) {
            case 408, 429, 502, 503, 504 -> AGAIN;
            case 401 -> isAuthorised ? AGAIN_COUNTED : FATAL;
            case 403 -> isAuthorised ? AGAIN_COUNTED : UNSERVED;
            case 413 -> IN_HALVES;
            case 400 -> ofBadRequest(error);
            default -> status >= 500 ? AGAIN_COUNTED : isIndexTrouble(error) ? UNSERVED : FATAL;
        };
    }

    /** Whether a request that is refused with this status may do well on another node. */
    static boolean isOfNode(int status) {
        return status == 502 || status == 503 || status == 504;
    }

    /** Elasticsearch checks versions and parses upserts before it looks at any item. */
    private static Outcome ofBadRequest(ItemError error) {
        if (isIndexTrouble(error)) {
            return UNSERVED;
        }
        // What another says, a proxy perhaps, or half an answer, is no verdict on any document.
        return error == ItemError.UNKNOWN ? AGAIN_COUNTED : IN_HALVES;
    }

    /** Whether the index or the pipeline, not a document, is the trouble. */
    static boolean isIndexTrouble(ItemError error) {
        return error != null
                && (INDEX_TROUBLES.contains(error.type())
                        || TARGET_TROUBLE.matcher(error.reason()).matches());
    }

    /** Whether a request is refused because of what stands in one of its documents. */
    static boolean isAboutContent(ItemError error) {
        return error != null && ABOUT_CONTENT.matcher(error.type()).matches();
    }

    /** Whether it names a user and an action, never a document. */
    static boolean isAboutAccess(ItemError error) {
        return error != null && error.isAboutAccess();
    }

    private static boolean isOfType(ItemError error, String type) {
        return error != null && error.type().equals(type);
    }
}
