package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import java.util.List;

/** The operations that must not be sent before an earlier one on the same document is completed. */
interface HeldOperations {
    /** Whether the operation has to wait for an earlier one; if so, it is kept here. */
    boolean mustWait(Operation operation);

    /** The operations, in order, that may go now that this one is completed or revoked. */
    List<Operation> release(Operation completed);

    /** Removes and returns the waiting operations whose partition was revoked. */
    List<Operation> takeRevoked();
}
