package io.sluice.connect.bulk;

/** What an item answered 409 is about. */
sealed interface ConflictVerdict {
    /** The stored document is the record's own. */
    record Own() implements ConflictVerdict {}

    /** A newer record of the key is stored. */
    record Stale() implements ConflictVerdict {}

    /** The cluster cannot say now, or an older version is stored by now: to be sent again. */
    record Again() implements ConflictVerdict {}

    /** There is no such document, or none that the account sees: to be sent again, a few times. */
    record Missing() implements ConflictVerdict {}

    /** The stored document is another record's. */
    record Taken(String reason) implements ConflictVerdict {}

    /** The id is ours, and whether the document is too cannot be told. */
    record Untold(String reason) implements ConflictVerdict {}

    /** That depends on what the index does to documents. */
    record DependsOnIndex() implements ConflictVerdict {}

    ConflictVerdict OWN = new Own();
    ConflictVerdict STALE = new Stale();
    ConflictVerdict AGAIN = new Again();
    ConflictVerdict MISSING = new Missing();
    ConflictVerdict DEPENDS_ON_INDEX = new DependsOnIndex();
}
