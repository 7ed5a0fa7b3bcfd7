package io.sluice.connect.bulk;

/** What the cluster did with an item that it does not call failed. */
enum ItemResult {
    /** It created, updated or deleted the document, as the status says. */
    STORED,
    /** Nothing: an ingest pipeline dropped the document, or an update changed nothing. */
    NOOP,
    /**
     * It put the document into the data stream's failure store, under an id of its own. Source:
     * FailureStoreDocumentConverter.transformFailedRequest in Elasticsearch 8.19 makes a request without an id.
     */
    REDIRECTED
}
