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
    private static final long SLASHES = '/' * ONES;

    /** The bits in which both {@code *} and {@code /} differ from most characters; the highest is left to {@code word}. */
    private static final long STAR_OR_SLASH_BITS = 0x7AL * ONES;

    private static final long STARS = '*' * ONES;

    /** The bits that C0, C1, E0 and E1 lack; other leads of two and three bytes have one of them. */
    private static final long OVERLONG_BITS = 0x1EL * ONES;

    private static final long LEADS_OF_SURROGATES = 0xEDL * ONES;

    private OneLine() {}

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
        return endsPlain(text) ? text.length - 1 : i;
    }

    /** Whether the two words before the closing brace are plain: they may overlap those that were looked at. */
    private static boolean endsPlain(byte[] text) {
        int i = text.length - 2 * Long.BYTES - 1;
        return i >= 0
                && specialBytes((long) WORD.get(text, i), (long) WORD.get(text, i + 1)) == 0
                && specialBytes((long) WORD.get(text, i + Long.BYTES), (long) WORD.get(text, i + Long.BYTES + 1)) == 0;
    }

    /** The index after a byte, after all that are not ASCII, or after a run of slashes; negative when it may do harm. */
    private static int after(byte[] text, int i) {
        if (text[i] == '/') {
            return afterSlashes(text, i);
        }
        if (text[i] >= 0) {
            return text[i] >= ' ' ? i + 1 : ~i;
        }
        int letters = afterLetters(text, i);
        return letters > i ? letters : Utf8.multiByteRun(text, i);
    }

    /**
     * The index of the character at which a word begins, or ends, that is ASCII or that must be looked at byte by byte.
     * Text with spaces between short runs of letters takes fewer branches by words than by runs.
     */
    private static int afterLetters(byte[] text, int from) {
        long expected = 0;
        int i = from;
        for (; i < text.length - Long.BYTES; i += Long.BYTES) {
            long word = (long) WORD.get(text, i);
            long next = (long) WORD.get(text, i + 1);
            if ((word & HIGH_BITS) == 0 || (unsure(word, next, expected) & HIGH_BITS) != 0) {
                break;
            }
            expected = expectedAfter(word);
        }
        return expected == 0 ? i : startOfCharacter(text, i - 1);
    }

    /** The index of the lead of a character whose first or second byte is at {@code i}. */
    private static int startOfCharacter(byte[] text, int i) {
        return (text[i] & 0x40) == 0 ? i - 1 : i;
    }

    /**
     * The high bit of each byte that continues no character of two or three bytes, or should; that leads one in C0, C1, E0
     * or E1, in ED before a surrogate, or from F0 on; and of special ASCII.
     *
     * @param expected the high bit of each byte that must continue a character of the word before
     */
    private static long unsure(long word, long next, long expected) {
        long leads = word & word << 1;
        long leadsOfThree = leads & word << 2;
        long misplaced = word ^ leads ^ (expected | leads << 8 | leadsOfThree << 16);
        long overlong = (word & OVERLONG_BITS) - ONES & leads;
        long surrogates = (word ^ LEADS_OF_SURROGATES) - ONES & word & next << 2;
        return misplaced | overlong | surrogates | leadsOfThree & word << 3 | specialBytes(word, next) & ~word;
    }

    /** The high bit of each byte of the next word that must continue a character of two or three bytes. */
    private static long expectedAfter(long word) {
        long leads = word & word << 1;
        return (leads >>> 56 | (leads & word << 2) >>> 48) & HIGH_BITS;
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
