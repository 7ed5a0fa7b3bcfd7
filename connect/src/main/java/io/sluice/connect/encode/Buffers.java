package io.sluice.connect.encode;

import java.nio.ByteBuffer;

/** The bytes of what Connect calls bytes. */
final class Buffers {
    private Buffers() {}

    /** The bytes of an array or of a buffer of any kind, whose position stays; {@code null} for anything else. */
    static byte[] bytesOf(Object value) {
        if (value instanceof byte[] bytes) {
            return bytes;
        }
        if (value instanceof ByteBuffer buffer) {
            byte[] bytes = new byte[buffer.remaining()];
            buffer.duplicate().get(bytes);
            return bytes;
        }
        return null;
    }
}
