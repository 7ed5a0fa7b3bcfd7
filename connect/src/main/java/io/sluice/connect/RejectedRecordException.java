package io.sluice.connect;

import org.apache.kafka.connect.errors.ConnectException;

/** Why a record is in the dead-letter queue: topic-partition@offset, status, error type and reason. */
final class RejectedRecordException extends ConnectException {
    private static final long serialVersionUID = 1L;

    RejectedRecordException(String message) {
        super(message);
    }
}
