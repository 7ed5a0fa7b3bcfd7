package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LineBufferTest {
    private final LineBuffer line = new LineBuffer();

    private static String text(byte[] bytes) {
        return new String(bytes, UTF_8);
    }

    /** Numbers are written as Java writes them. */
    @ParameterizedTest
    @ValueSource(longs = {0, 7, 10, 99, 100, 1_234_567_890_123L, Long.MAX_VALUE, -1, Long.MIN_VALUE})
    void numbersAreWrittenInDecimal(long number) {
        assertEquals("v" + number, text(line.put(new byte[] {'v'}).put(number).take()));
    }

    /** A line has nothing of the one before, and may be longer than any before. */
    @Test
    void linesAreIndependent() {
        assertEquals("first", text(line.put("first".getBytes(UTF_8)).take()));
        String longest = "한글".repeat(1_009);
        assertEquals(
                longest + 41, text(line.put(longest.getBytes(UTF_8)).put(41).take()));
        assertEquals("", text(line.take()));
    }
}
