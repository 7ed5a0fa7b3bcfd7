package io.sluice.connect.encode;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Whether bytes beyond ASCII are valid UTF-8. */
final class Utf8 {
    private static final VarHandle HALF_WORD =
            MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    private Utf8() {}

    /** Accepts UTF-8 sequences of two to four bytes up to the next ASCII byte; controls are refused here. */
    static int multiByteRun(byte[] bytes, int from) {
        int i = from;
        if (bytes[i] >= 0) {
            return ~i;
        }
        while (i >= 0 && i < bytes.length && bytes[i] < 0) {
            i = multiByte(bytes, i, bytes[i] & 0xFF);
        }
        return i;
    }

    /** Three-byte sequences, the letters of most scripts, in one step where four bytes are left; the rest by byte. */
    private static int multiByte(byte[] bytes, int i, int lead) {
        if (i <= bytes.length - Integer.BYTES) {
            int sequence = (int) HALF_WORD.get(bytes, i);
            boolean isOrdinary = lead != 0xE0 && lead != 0xED || lead == 0xED && (sequence & 0x2000) == 0;
            if ((sequence & 0xC0C0F0) == 0x8080E0 && isOrdinary) {
                return i + 3;
            }
        }
        return multiByteByByte(bytes, i, lead);
    }

    private static int multiByteByByte(byte[] bytes, int i, int lead) {
        if (lead < 0xC2 || lead > 0xF4) {
            return ~i;
        }
        if (lead < 0xE0) {
            return continues(bytes, i + 1, 0x80, 0xBF) ? i + 2 : ~i;
        }
        if (lead < 0xF0) {
            int least = lead == 0xE0 ? 0xA0 : 0x80;
            int most = lead == 0xED ? 0x9F : 0xBF;
            return continues(bytes, i + 1, least, most) && continues(bytes, i + 2, 0x80, 0xBF) ? i + 3 : ~i;
        }
        int least = lead == 0xF0 ? 0x90 : 0x80;
        int most = lead == 0xF4 ? 0x8F : 0xBF;
        boolean valid = continues(bytes, i + 1, least, most)
                && continues(bytes, i + 2, 0x80, 0xBF)
                && continues(bytes, i + 3, 0x80, 0xBF);
        return valid ? i + 4 : ~i;
    }

    private static boolean continues(byte[] bytes, int i, int least, int most) {
        if (i >= bytes.length) {
            return false;
        }
        int b = bytes[i] & 0xFF;
        return b >= least && b <= most;
    }
}
