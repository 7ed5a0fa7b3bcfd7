package io.sluice.connect.cluster;

import org.apache.kafka.connect.errors.ConnectException;

/** A setting that is right in itself, but names something that this worker cannot use, such as a file. */
final class UnusableSetting extends ConnectException {
    private static final long serialVersionUID = 1L;

    private final String key;
    private final String why;

    UnusableSetting(String key, String why, Throwable cause) {
        super(key + ": " + why, cause);
        this.key = key;
        this.why = why;
    }

    String key() {
        return key;
    }

    String why() {
        return why;
    }
}
