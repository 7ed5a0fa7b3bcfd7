package io.sluice.connect.bulk;

/** The error of an item or of a whole request, as Elasticsearch words it; the reason may quote a document. */
public record ItemError(String type, String reason) {
    static final ItemError UNKNOWN = new ItemError("unknown", "");

    /** For a request that was sent and never answered. */
    static ItemError unanswered(Exception cause) {
        return new ItemError("no_answer", cause.getClass().getSimpleName() + ": " + cause.getMessage());
    }
}
