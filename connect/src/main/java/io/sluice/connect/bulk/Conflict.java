package io.sluice.connect.bulk;

import io.sluice.connect.bulk.BulkAnswer.Place;
import io.sluice.connect.encode.Operation;

/**
 * An operation that was answered 409.
 *
 * @param item its number in the request
 * @param place the document that the answer names
 * @param isBeyondEnd whether the stored version lies beyond the end of the record's partition
 */
record Conflict(int item, Operation operation, Place place, boolean isBeyondEnd) {
    /** Whether the sink gave the document its id, not a pipeline or the cluster. */
    boolean isIdOurs() {
        char[] id = place.id().toCharArray();
        return operation.hasId() && operation.hasId(id, 0, id.length);
    }
}
