package io.sluice.connect.bulk;

/** What is done next about an operation or a request. */
enum Step {
    /** It has a final result. */
    COMPLETE,
    /** It is sent again after a wait. */
    REPEAT,
    /** It is sent again in two halves. */
    HALVE,
    /** The cluster says that the document will never be accepted. */
    REJECT,
    /** The document is the likely cause, since others of its target got through meanwhile. */
    SUSPECT,
    /** The target cannot be served: what is for it waits, what is for others goes on. */
    PARK,
    /** No record can get through. */
    FAIL
}
