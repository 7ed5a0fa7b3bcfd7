package io.sluice.connect.bulk;

import io.sluice.connect.offset.Delivery;
import java.util.List;
import org.apache.kafka.connect.errors.ConnectException;

/** Hears what became of the records of bulk requests. */
public interface Results {
    /** Records that got through, each with its fate; all of one answer together, since a step for each would cost more. */
    void completed(List<Delivery> deliveries);

    /** The document will never be accepted. */
    void rejected(Delivery delivery, int status, ItemError error);

    /** The document is the likely cause of lasting failures: others of its target got through meanwhile. */
    void suspected(Delivery delivery, int status, ItemError error);

    /** The target cannot be served: its records wait, those of others go on. */
    void parked(String target);

    /** A target that was parked is served again. */
    void served(String target);

    /** The record was not sent, or did not get through, and its partition is no longer ours: it is read again elsewhere. */
    void revoked(Delivery delivery);

    /** Nothing more can be done; nothing follows. */
    void failed(ConnectException cause);
}
