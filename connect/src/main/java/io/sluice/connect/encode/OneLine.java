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

    private OneLine() {}

    /** Whether they are valid UTF-8 between braces without a control character, a line break above all. */
    static boolean isBraced(byte[] text) {
        return text.length > 1 && text[0] == '{' && text[text.length - 1] == '}' && hasOnlyPrintables(text);
    }

    private static boolean hasOnlyPrintables(byte[] text) {
        int i = 0;
        while (i >= 0 && i <= text.length - Long.BYTES) {
            long special = specialBytes((long) WORD.get(text, i));
            if (special == 0) {
                i += Long.BYTES;
            } else {
                i = Utf8.multiByteRun(text, i + (Long.numberOfTrailingZeros(special) >>> 3));
            }
        }
        while (i >= 0 && i < text.length) {
            i = text[i] >= ' ' ? i + 1 : Utf8.multiByteRun(text, i);
        }
        return i >= 0;
    }

    /** The high bit of each byte that is a control or not ASCII; the lowest set one is exact. */
    private static long specialBytes(long word) {
        return (word - SPACES | word) & HIGH_BITS;
    }
}
