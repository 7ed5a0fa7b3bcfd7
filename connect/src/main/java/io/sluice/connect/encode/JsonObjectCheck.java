package io.sluice.connect.encode;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Checks in one pass that bytes are exactly one JSON object (RFC 8259) in valid UTF-8, without building anything.
 *
 * <p>Inner methods take the index of the next byte and return the index after what they accepted, or {@code ~i} (a
 * negative number) when byte {@code i} is the first one that does not belong. Not safe for several threads.
 */
final class JsonObjectCheck {
    private static final VarHandle WORD = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long ONES = 0x0101010101010101L;
    private static final long HIGH_BITS = 0x80L * ONES;
    private static final long SPACES = 0x20L * ONES;
    private static final long QUOTES = '"' * ONES;
    private static final long BACKSLASHES = '\\' * ONES;
    private static final int LEVELS_PER_WORD = Long.SIZE;

    private byte[] bytes = {};
    private boolean lineBreaks;

    /** Whether nothing stands yet in the innermost container. */
    private boolean justOpened;

    /** The kinds of the open containers, innermost in the lowest bit: 1 = object, 0 = array. */
    private long levels;

    private long[] outerLevels = new long[4];
    private int depth;

    /** Returns -1 when {@code document} is one JSON object, otherwise the index of the first byte that is wrong. */
    int firstOffence(byte[] document) {
        bytes = document;
        lineBreaks = false;
        depth = 0;
        int end = object();
        bytes = null;
        return end < 0 ? ~end : -1;
    }

    /** What is wrong with {@code document}, without quoting it; {@code null} when it is one JSON object. */
    String faultOf(byte[] document) {
        int offence = firstOffence(document);
        return offence < 0
                ? null
                : "record value: got " + document.length + " bytes that are wrong from byte " + offence
                        + " on, expected one JSON object in UTF-8";
    }

    /** Whether the last checked document has a line feed or carriage return between its tokens. */
    boolean hasLineBreaks() {
        return lineBreaks;
    }

    private int object() {
        int i = skipWhitespace(0);
        if (i == bytes.length || bytes[i] != '{') {
            return ~i;
        }
        i = open(i, true);
        while (i >= 0 && depth > 0) {
            i = contents(i);
        }
        if (i < 0) {
            return i;
        }
        i = skipWhitespace(i);
        return i == bytes.length ? i : ~i;
    }

    /** Accepts what follows in the innermost container: up to its end, or into a container that it holds. */
    private int contents(int from) {
        byte[] b = bytes;
        boolean inObject = (levels & 1) != 0;
        byte end = (byte) (inObject ? '}' : ']');
        boolean isFirst = justOpened;
        int i = skipWhitespace(from);
        while (i < b.length && b[i] != end) {
            if (!isFirst) {
                if (b[i] != ',') {
                    return ~i;
                }
                i = skipWhitespace(i + 1);
            }
            isFirst = false;
            i = inObject ? name(i) : i;
            if (i < 0 || i == b.length) {
                return i < 0 ? i : ~i;
            }
            if (b[i] == '{' || b[i] == '[') {
                return open(i, b[i] == '{');
            }
            i = scalar(i);
            if (i < 0) {
                return i;
            }
            i = skipWhitespace(i);
        }
        return close(i);
    }

    /** Accepts the end of the innermost container, if there are bytes left at all. */
    private int close(int i) {
        if (i >= bytes.length) {
            return ~i;
        }
        justOpened = false;
        pop();
        return i + 1;
    }

    /** Accepts a member's name, its colon, and the whitespace before the value. */
    private int name(int from) {
        byte[] b = bytes;
        if (from >= b.length || b[from] != '"') {
            return ~from;
        }
        int i = string(from + 1);
        if (i < 0) {
            return i;
        }
        i = skipWhitespace(i);
        return i < b.length && b[i] == ':' ? skipWhitespace(i + 1) : ~i;
    }

    private int scalar(int i) {
        switch (bytes[i]) {
            case '"':
                return string(i + 1);
            case 't':
                return literal(i, 'r', 'u', 'e');
            case 'n':
                return literal(i, 'u', 'l', 'l');
            case 'f':
                return i + 1 < bytes.length && bytes[i + 1] == 'a' ? literal(i + 1, 'l', 's', 'e') : ~i;
            default:
                return number(i);
        }
    }

    private int open(int i, boolean isObject) {
        push(isObject);
        justOpened = true;
        return i + 1;
    }

    private void push(boolean isObject) {
        if (depth > 0 && depth % LEVELS_PER_WORD == 0) {
            int word = depth / LEVELS_PER_WORD - 1;
            if (word == outerLevels.length) {
                outerLevels = Arrays.copyOf(outerLevels, 2 * word);
            }
            outerLevels[word] = levels;
        }
        levels = levels << 1 | (isObject ? 1 : 0);
        depth++;
    }

    private void pop() {
        depth--;
        if (depth > 0 && depth % LEVELS_PER_WORD == 0) {
            levels = outerLevels[depth / LEVELS_PER_WORD - 1];
        } else {
            levels >>>= 1;
        }
    }

    private int literal(int i, char second, char third, char fourth) {
        boolean matches =
                i + 3 < bytes.length && bytes[i + 1] == second && bytes[i + 2] == third && bytes[i + 3] == fourth;
        return matches ? i + 4 : ~i;
    }

    private int number(int from) {
        int i = from;
        if (bytes[i] == '-') {
            i++;
        }
        if (i < bytes.length && bytes[i] == '0') {
            i++;
        } else {
            i = digits(i);
        }
        if (i >= 0 && i < bytes.length && bytes[i] == '.') {
            i = digits(i + 1);
        }
        if (i >= 0 && i < bytes.length && (bytes[i] | 0x20) == 'e') {
            i++;
            if (i < bytes.length && (bytes[i] == '+' || bytes[i] == '-')) {
                i++;
            }
            i = digits(i);
        }
        return i;
    }

    private int digits(int from) {
        int i = from;
        while (i < bytes.length && bytes[i] >= '0' && bytes[i] <= '9') {
            i++;
        }
        return i == from ? ~i : i;
    }

    private int skipWhitespace(int i) {
        return i < bytes.length && bytes[i] > ' ' ? i : skipMoreWhitespace(i);
    }

    private int skipMoreWhitespace(int from) {
        int i = from;
        for (; i < bytes.length && bytes[i] <= ' ' && bytes[i] >= 0; i++) {
            byte b = bytes[i];
            if (b == '\n' || b == '\r') {
                lineBreaks = true;
            } else if (b != ' ' && b != '\t') {
                return i;
            }
        }
        return i;
    }

    /** Accepts the rest of a string, eight bytes at a time while they are plain ASCII. */
    private int string(int from) {
        byte[] b = bytes;
        int i = from;
        while (true) {
            while (i <= b.length - Long.BYTES) {
                long special = specialBytes((long) WORD.get(b, i));
                if (special != 0) {
                    i += Long.numberOfTrailingZeros(special) >>> 3;
                    break;
                }
                i += Long.BYTES;
            }
            while (i < b.length && isPlain(b[i])) {
                i++;
            }
            if (i >= b.length) {
                return ~i;
            }
            if (b[i] == '"') {
                return i + 1;
            }
            i = b[i] == '\\' ? escape(i + 1) : Utf8.multiByteRun(bytes, i);
            if (i < 0) {
                return i;
            }
        }
    }

    /** The high bit of each byte that is a quote, a backslash, a control or not ASCII; the lowest set one is exact. */
    private static long specialBytes(long word) {
        return ((word ^ QUOTES) - ONES | (word ^ BACKSLASHES) - ONES | word - SPACES | word) & HIGH_BITS;
    }

    private static boolean isPlain(byte b) {
        return b >= ' ' && b != '"' && b != '\\';
    }

    private int escape(int i) {
        if (i >= bytes.length) {
            return ~i;
        }
        switch (bytes[i]) {
            case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
                return i + 1;
            case 'u':
                return hexDigits(i + 1);
            default:
                return ~i;
        }
    }

    private int hexDigits(int from) {
        for (int i = from; i < from + 4; i++) {
            if (i >= bytes.length || Character.digit(bytes[i], 16) < 0) {
                return ~i;
            }
        }
        return from + 4;
    }
}
