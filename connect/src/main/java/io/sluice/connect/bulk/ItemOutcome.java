package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation.Kind;
import io.sluice.connect.metrics.Fate;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the answer to one item of a bulk request means. */
public enum ItemOutcome {
    INDEXED(Fate.INDEXED),
    UPDATED(Fate.UPDATED),
    DELETED(Fate.DELETED),
    ALREADY_THERE(Fate.ALREADY_THERE),
    STALE(Fate.STALE),
    /** This document will never be accepted; its neighbours are not concerned. */
    REJECTED(null),
    /** The cluster is busy, blocked or incomplete: again, for as long as the time bound allows. */
    RETRY(null),
    /** A failure that waiting alone may not cure: again, a counted number of times. */
    RETRY_COUNTED(null),
    /** The index, not the document, is the trouble: no record can get through. */
    UNUSABLE_INDEX(null);

    private static final Set<String> INDEX_TROUBLES =
            Set.of("index_not_found_exception", "index_closed_exception", "invalid_index_name_exception");
    private static final Pattern CURRENT_VERSION = Pattern.compile("current version \\[(\\d{1,18})\\]");

    private final Fate fate;

    ItemOutcome(Fate fate) {
        this.fate = fate;
    }

    /** What becomes of the record, or {@code null} when this outcome does not decide it. */
    public Fate fate() {
        return fate;
    }

    /**
     * The outcome of one item; its status decides.
     *
     * @param error what was wrong, or {@code null}; its reason only tells stale from already there
     * @param version the external version that was sent
     */
    static ItemOutcome of(Kind kind, int status, ItemError error, long version) {
        if (isIndexTrouble(error)) {
            return UNUSABLE_INDEX;
        }
        return switch (status) {
            case 200 -> kind == Kind.DELETE ? DELETED : UPDATED;
            case 201 -> INDEXED;
            case 404 -> kind == Kind.DELETE ? ALREADY_THERE : REJECTED;
            case 409 -> ofConflict(kind, error, version);
            case 429, 502, 503, 504 -> RETRY;
            case 403 -> isBlocked(error) ? RETRY : RETRY_COUNTED;
            case 401 -> RETRY_COUNTED;
            default -> status >= 500 ? RETRY_COUNTED : REJECTED;
        };
    }

    /** Whether the index, not a document, is the trouble. */
    static boolean isIndexTrouble(ItemError error) {
        return error != null && INDEX_TROUBLES.contains(error.type());
    }

    /** Whether it names a user and an action, never a document. */
    static boolean isAboutAccess(ItemError error) {
        return error != null && error.type().equals("security_exception");
    }

    private static boolean isBlocked(ItemError error) {
        return error != null && error.type().equals("cluster_block_exception");
    }

    private static ItemOutcome ofConflict(Kind kind, ItemError error, long version) {
        if (kind == Kind.UPDATE) {
            return RETRY_COUNTED;
        }
        if (kind == Kind.CREATE || error == null) {
            return ALREADY_THERE;
        }
        Matcher current = CURRENT_VERSION.matcher(error.reason());
        return current.find() && Long.parseLong(current.group(1)) > version ? STALE : ALREADY_THERE;
    }
}
