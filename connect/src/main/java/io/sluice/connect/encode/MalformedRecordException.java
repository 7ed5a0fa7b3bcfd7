package io.sluice.connect.encode;

/** A record from which no operation can be made; the message names the cause and quotes none of its content. */
public final class MalformedRecordException extends Exception {
    private static final long serialVersionUID = 1L;

    MalformedRecordException(String message) {
        super(message);
    }

    MalformedRecordException(String message, Throwable cause) {
        super(message, cause);
    }
}
