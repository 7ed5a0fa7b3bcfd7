package io.sluice.connect.encode;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Whether bytes may stand on a line of a bulk request without any harm to its neighbours, whatever they mean. */
final class OneLine {
    private static final VarHandle WORD = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long ONES = 0x0101010101010101L;
    private static final long HIGH_BITS = 0x80L * ONES;
    private static final long SPACES = 0x20L * ONES;
    private static final long STARS = '*' * ONES;

    private OneLine() {}

    /**
     * Whether they are valid UTF-8 between braces, without a control character (a line break above all) and without what
     * may begin a comment: Elasticsearch would store it, though it is no JSON.
     */
    static boolean isBraced(byte[] text) {
        return text.length > 1 && text[0] == '{' && text[text.length - 1] == '}' && isHarmless(text);
    }

    private static boolean isHarmless(byte[] text) {
        int i = 0;
        while (i >= 0 && i <= text.length - Long.BYTES) {
            long special = specialBytes((long) WORD.get(text, i));
            if (special == 0) {
                i += Long.BYTES;
            } else {
                i = after(text, i + (Long.numberOfTrailingZeros(special) >>> 3));
            }
        }
        while (i >= 0 && i < text.length) {
            i = after(text, i);
        }
        return i >= 0;
    }

    /** The index after a byte, or after all that are not ASCII; negative when it is one that may do harm. */
    private static int after(byte[] text, int i) {
        if (text[i] == '*' && text[i - 1] == '/') {
            return ~i;
        }
        return text[i] >= ' ' ? i + 1 : Utf8.multiByteRun(text, i);
    }

    /** The high bit of each byte that is an asterisk, a control or not ASCII; the lowest set one is exact. */
    private static long specialBytes(long word) {
        return ((word ^ STARS) - ONES | word - SPACES | word) & HIGH_BITS;
    }
}
