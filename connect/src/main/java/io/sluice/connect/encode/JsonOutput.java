package io.sluice.connect.encode;

import java.io.OutputStream;
import java.util.Arrays;

/** Where the JSON of one value after the other is put together. */
final class JsonOutput extends OutputStream {
    private static final int KEPT_BYTES = 1 << 20;

    private final long most;
    private byte[] bytes = new byte[1_024];
    private int length;

    /** @param most bytes of one value */
    JsonOutput(long most) {
        this.most = most;
    }

    @Override
    public void write(int b) throws TooLargeException {
        reserve(1);
        bytes[length++] = (byte) b;
    }

    @Override
    public void write(byte[] part, int from, int size) throws TooLargeException {
        reserve(size);
        System.arraycopy(part, from, bytes, length, size);
        length += size;
    }

    private void reserve(int more) throws TooLargeException {
        if (bytes.length - length < more) {
            long least = (long) length + more;
            if (least > most) {
                throw new TooLargeException(most);
            }
            bytes = Arrays.copyOf(bytes, (int) Math.max(least, Math.min(2L * bytes.length, most)));
        }
    }

    /** What was written since, after which the next value begins. */
    byte[] take() {
        byte[] taken = Arrays.copyOf(bytes, length);
        length = 0;
        if (bytes.length > KEPT_BYTES) {
            bytes = new byte[1_024];
        }
        return taken;
    }

    /** A value whose JSON would take too much of the heap. */
    static final class TooLargeException extends java.io.IOException {
        private static final long serialVersionUID = 1L;

        TooLargeException(long most) {
            super("more than " + most + " bytes of JSON");
        }
    }
}
