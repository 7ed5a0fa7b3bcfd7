package io.sluice.connect.bulk;

/** The error of an item or of a whole request, as Elasticsearch words it; the reason may quote a document. */
public record ItemError(String type, String reason) {
    private static final String ID_CONFLICT = "id_conflict";
    private static final String ABOUT_ACCESS = "security_exception";
    static final ItemError UNKNOWN = new ItemError("unknown", "");

    /** For a request that was sent and never answered. */
    static ItemError unanswered(Exception cause) {
        return new ItemError("no_answer", cause.getClass().getSimpleName() + ": " + cause.getMessage());
    }

    /** Our own: the stored document is another record's. The reason says why and quotes no document. */
    static ItemError idConflict(String reason) {
        return new ItemError(ID_CONFLICT, reason);
    }

    /** Whether the reason names a user and an action, never a document. */
    public boolean isAboutAccess() {
        return type.equals(ABOUT_ACCESS);
    }

    /** Whether the stored document is another record's, so that this one is not stored. */
    public boolean isIdConflict() {
        return type.equals(ID_CONFLICT);
    }
}
