package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OneLineTest {
    /** Text between braces passes, whether it is JSON or not: that is for Elasticsearch to say. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{\"제목\":\"[중고] 어린 왕자\"}",
                "{\"a\":1,}",
                "{\"a\" 1}",
                "{x}",
                "{}}",
                "{\"é\uD83D\uDE00\u007F\"}"
            })
    void textBetweenBracesPasses(String text) {
        assertTrue(OneLine.isBraced(text.getBytes(UTF_8)));
    }

    /** Anything that is not between braces does not, be it JSON or not. */
    @ParameterizedTest
    @ValueSource(strings = {"", "{", "}", " {}", "{} ", "[1]", "null", "{\"a\":1", "\uFEFF{}"})
    void anythingElseDoesNot(String text) {
        assertFalse(OneLine.isBraced(text.getBytes(UTF_8)));
    }

    /** No control character passes, wherever in a word it stands: a line break would cut the request's line in two. */
    @Test
    void noControlCharacterPasses() {
        for (int control = 0; control < ' '; control++) {
            for (int padding = 0; padding < 19; padding++) {
                String text = "{" + "가x".repeat(padding / 2) + "x".repeat(padding % 2) + (char) control + "12345678}";
                assertFalse(OneLine.isBraced(text.getBytes(UTF_8)), control + " after " + padding);
            }
        }
    }

    /** What may be a comment does not pass, wherever in a word it stands; asterisks and slashes do. */
    @Test
    void noCommentPasses() {
        for (int padding = 0; padding < 19; padding++) {
            String before = "{" + "x".repeat(padding);
            assertFalse(OneLine.isBraced((before + "/**/12345678}").getBytes(UTF_8)), "after " + padding);
            assertTrue(OneLine.isBraced((before + "*/ ** // /12345678}").getBytes(UTF_8)), "after " + padding);
        }
    }

    /** Whatever bytes stand between the braces, they pass exactly when Java's decoder takes them and none is a control. */
    @Test
    void validityIsThatOfJavasDecoder() {
        Random random = new Random(20261121);
        int valid = 0;
        for (int round = 0; round < 40_009; round++) {
            byte[] text = ("{" + "[중고] 어린 왕자 é\uD83D\uDE00 plain".repeat(1 + round % 3) + "}").getBytes(UTF_8);
            for (int change = round % 4; change > 0; change--) {
                text[1 + random.nextInt(text.length - 2)] = (byte) random.nextInt(256);
            }
            boolean expected =
                    isUtf8(text) && new String(text, ISO_8859_1).chars().allMatch(c -> c >= ' ');
            assertEquals(expected, OneLine.isBraced(text), () -> new String(text, ISO_8859_1));
            valid += expected ? 1 : 0;
        }
        assertTrue(valid > 10_000 && valid < 30_000, valid + " of them were valid");
    }

    private static boolean isUtf8(byte[] text) {
        try {
            UTF_8.newDecoder().decode(ByteBuffer.wrap(text));
            return true;
        } catch (CharacterCodingException notUtf8) {
            return false;
        }
    }
}
