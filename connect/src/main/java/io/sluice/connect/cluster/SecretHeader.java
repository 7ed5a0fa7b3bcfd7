package io.sluice.connect.cluster;

import org.apache.hc.core5.http.message.BasicHeader;

/** A header whose value the client may send, but not write to its log. */
final class SecretHeader extends BasicHeader {
    private static final long serialVersionUID = 1L;

    SecretHeader(String name, String value) {
        super(name, value, true);
    }

    @Override
    public String toString() {
        return getName() + ": [hidden]";
    }
}
