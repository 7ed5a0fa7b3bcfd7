package io.sluice.connect.encode;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** The check of {@link OneLine} before it read letters by words: the answers that it must give. */
final class FormerOneLine {
    private static final VarHandle WORD = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long ONES = 0x0101010101010101L;
    private static final long HIGH_BITS = 0x80L * ONES;
    private static final long SPACES = 0x20L * ONES;
    private static final long SLASHES = '/' * ONES;

    /** The bits in which both {@code *} and {@code /} differ from most characters; the highest is left to {@code word}. */
    private static final long STAR_OR_SLASH_BITS = 0x7AL * ONES;

    private static final long STARS = '*' * ONES;

    private FormerOneLine() {}

    /**
     * Whether they are valid UTF-8 between braces, without a control character (a line break above all) and without what
     * may begin a comment: Elasticsearch would store it, though it is no JSON.
     *
     * <p>Slashes right behind a colon pass, as in a URL: outside a string a value must come there, and a comment up to the
     * end of the line leaves none.
     */
    static boolean isBraced(byte[] text) {
        return text.length > 1 && text[0] == '{' && text[text.length - 1] == '}' && isHarmless(text);
    }

    private static boolean isHarmless(byte[] text) {
        int i = 0;
        while (i >= 0 && i < text.length) {
            i = after(text, afterPlainWords(text, i));
        }
        return i >= 0;
    }

    /** The index of the next byte that is to be looked at by itself; two words at a time, as the loop costs, too. */
    private static int afterPlainWords(byte[] text, int from) {
        int i = from;
        while (i < text.length - 2 * Long.BYTES) {
            long special = specialBytes((long) WORD.get(text, i), (long) WORD.get(text, i + 1));
            if (special != 0) {
                return i + (Long.numberOfTrailingZeros(special) >>> 3);
            }
            special = specialBytes((long) WORD.get(text, i + Long.BYTES), (long) WORD.get(text, i + Long.BYTES + 1));
            if (special != 0) {
                return i + Long.BYTES + (Long.numberOfTrailingZeros(special) >>> 3);
            }
            i += 2 * Long.BYTES;
        }
        return i;
    }

    /** The index after a byte, after all that are not ASCII, or after a run of slashes; negative when it may do harm. */
    private static int after(byte[] text, int i) {
        if (text[i] == '/') {
            return afterSlashes(text, i);
        }
        return text[i] >= ' ' ? i + 1 : Utf8.multiByteRun(text, i);
    }

    /** The run ends before the closing brace at the latest. */
    private static int afterSlashes(byte[] text, int from) {
        int i = from + 1;
        while (text[i] == '/') {
            i++;
        }
        boolean isComment = text[i] == '*' || i > from + 1 && text[from - 1] != ':';
        return isComment ? ~i : i;
    }

    /**
     * The high bit of each byte that is a control, not ASCII, or a slash before another or an asterisk (or before {@code +}
     * or {@code .}, as that costs less to tell); the lowest set one is exact but for this.
     *
     * @param next the word that begins one byte later, so that no pair lies across two words
     */
    private static long specialBytes(long word, long next) {
        long notBegun = word ^ SLASHES | (next ^ STARS) & STAR_OR_SLASH_BITS;
        return (notBegun - ONES | word - SPACES | word) & HIGH_BITS;
    }
}
