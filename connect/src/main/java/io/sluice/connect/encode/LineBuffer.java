package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.Arrays;

/** Where one short line after the other is put together, without anything thrown away in between. */
final class LineBuffer {
    private static final int MOST_DIGITS = 20;

    private byte[] bytes = new byte[256];
    private int length;

    LineBuffer put(byte[] part) {
        reserve(part.length);
        System.arraycopy(part, 0, bytes, length, part.length);
        length += part.length;
        return this;
    }

    /** Puts the decimal digits of a number. */
    LineBuffer put(long number) {
        reserve(MOST_DIGITS);
        if (number < 0) {
            // The smallest number has no positive counterpart; numbers below zero are too rare to be quick.
            return put(Long.toString(number).getBytes(US_ASCII));
        }
        int end = length + digits(number);
        long rest = number;
        int at = end;
        do {
            bytes[--at] = (byte) ('0' + rest % 10);
            rest /= 10;
        } while (rest > 0);
        length = end;
        return this;
    }

    private static int digits(long number) {
        int digits = 1;
        for (long rest = number / 10; rest > 0; rest /= 10) {
            digits++;
        }
        return digits;
    }

    /** The line, after which the next one begins. */
    byte[] take() {
        byte[] line = Arrays.copyOf(bytes, length);
        length = 0;
        return line;
    }

    private void reserve(int more) {
        if (bytes.length - length < more) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + more));
        }
    }
}
