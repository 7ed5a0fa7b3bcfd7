package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JsonObjectCheckTest {
    private static final JsonFactory JSON = new JsonFactory();

    private final JsonObjectCheck check = new JsonObjectCheck();

    private int firstOffence(String json) {
        return check.firstOffence(json.getBytes(UTF_8));
    }

    /** Every form of value that RFC 8259 knows is accepted inside an object. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                " \t\r\n{ \n} \n",
                "{\"a\":1}",
                "{\"a\":-0.5e+10,\"b\":0,\"c\":10E-2,\"d\":-7}",
                "{\"a\":true,\"b\":false,\"c\":null}",
                "{\"a\":[],\"b\":[1,[2,{\"c\":[{}]}]],\"d\":{\"e\":{}}}",
                "{\"\":\"\"}",
                "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u12aB\"}",
                "{\"a\":\"\\ud800\"}",
                "{\"제목\":\"[중고] 어린 왕자\",\"b\":\"éß\uD83D\uDE00\u007F\"}",
                "{\"a\":\"exactly 8\",\"longer than one word of eight bytes\":\"seven..\"}",
                "{\"a\":1,\"a\":2}"
            })
    void objectsAreAccepted(String json) {
        assertEquals(-1, firstOffence(json));
    }

    /** The first byte that does not belong is named; the end of the bytes when something is missing. */
    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            delimiter = '|',
            value = {
                "``|0",
                "`   `|3",
                "[]|0",
                "1|0",
                "\"a\"|0",
                "null|0",
                "{|1",
                "{\"a\"|4",
                "{\"a\":|5",
                "{\"a\":1|6",
                "{\"a\":1,|7",
                "{\"a\":1,}|7",
                "{,}|1",
                "{a:1}|1",
                "{'a':1}|1",
                "{\"a\" 1}|5",
                "{\"a\":1 \"b\":2}|7",
                "{\"a\":1]|6",
                "{\"a\":[1}|7",
                "{\"a\":[1,]}|8",
                "{\"a\":[,1]}|6",
                "{\"a\":01}|6",
                "{\"a\":+1}|5",
                "{\"a\":.5}|5",
                "{\"a\":1.}|7",
                "{\"a\":1e}|7",
                "{\"a\":1e+}|8",
                "{\"a\":-}|6",
                "{\"a\":NaN}|5",
                "{\"a\":nul}|5",
                "{\"a\":falsy}|6",
                "{\"a\":\"b|7",
                "{\"a\":\"\\x\"}|7",
                "{\"a\":\"\\u12g4\"}|10",
                "{} {}|3",
                "{}]|2",
                "{}x|2",
                "{\"a\":1}}|7",
                "/**/{}|0",
            })
    void anythingElseIsRefusedAtItsFirstOffence(String json, int offence) {
        assertEquals(offence, firstOffence(json));
    }

    /** Bytes that are not UTF-8 are refused wherever in a string they stand. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "\u0080",
                "\u00BF",
                "\u00C0\u0080",
                "\u00C1\u00BF",
                "\u00C3",
                "\u00C3A",
                "\u00E0\u0080\u0080",
                "\u00ED\u00A0\u0080",
                "\u00ED\u00BF\u00BF",
                "\u00E1\u0080",
                "\u00E1\u0080A",
                "\u00F0\u0080\u0080\u0080",
                "\u00F4\u0090\u0080\u0080",
                "\u00F5\u0080\u0080\u0080",
                "\u00F0\u0090\u0080",
                "\u00FE",
                "\u00FF"
            })
    void bytesThatAreNotUtf8AreRefused(String latin1) {
        for (int padding = 0; padding < 19; padding++) {
            String before = "{\"a\":\"" + "x".repeat(padding);
            assertEquals(before.length(), check.firstOffence((before + latin1 + "\"}").getBytes(ISO_8859_1)));
        }
    }

    /** A raw control character inside a string is refused at every position of a word. */
    @Test
    void controlsInStringsAreRefused() {
        for (int control = 0; control < 0x20; control++) {
            for (int padding = 0; padding < 19; padding++) {
                String before = "{\"a\":\"" + "x".repeat(padding);
                assertEquals(before.length(), firstOffence(before + (char) control + "12345678901\"}"));
            }
        }
    }

    /** A byte order mark is not part of JSON text. */
    @Test
    void aByteOrderMarkIsRefused() {
        assertEquals(0, firstOffence("\uFEFF{}"));
    }

    /** Line breaks between tokens are noticed, escaped ones inside strings are not. */
    @Test
    void lineBreaksBetweenTokensAreNoticed() {
        for (String pretty : new String[] {"{\n}", "{\"a\":\r1}", "{}\n", "\n{}", "{\"a\":[1\n,2]}"}) {
            assertEquals(-1, firstOffence(pretty));
            assertTrue(check.hasLineBreaks());
        }
        assertEquals(-1, firstOffence("{ \"a\" : \"\\n\" }"));
        assertFalse(check.hasLineBreaks());
    }

    /** Nesting is followed to any depth, and each level is closed by its own bracket. */
    @ParameterizedTest
    @ValueSource(ints = {1, 63, 64, 65, 127, 128, 129, 1009, 10007})
    void nestingIsFollowedToAnyDepth(int depth) {
        String open = "{\"a\":".repeat(depth) + "[".repeat(depth);
        String close = "]".repeat(depth) + "}".repeat(depth);
        assertEquals(-1, firstOffence(open + close));
        assertEquals(open.length() + depth - 1, firstOffence(open + close.substring(1)));
        assertEquals(open.length() + depth, firstOffence(open + close.substring(0, depth) + "]"));
    }

    /** On random damage to a document the verdict is that of a full parser. */
    @Test
    void verdictsEqualThoseOfAFullParser() throws IOException {
        byte[] document =
                "{\"t\":\"[중고] \\u00e9\",\"n\":-1.5e3,\"l\":[true,null,{\"x\":\"y\"}],\"o\":{\"k\":0}}".getBytes(UTF_8);
        Random random = new Random(20011);
        byte[] alphabet = "{}[]\",:\\ut0123e+-. \n\u0080é".getBytes(UTF_8);
        for (int i = 0; i < 200_003; i++) {
            byte[] damaged = document.clone();
            for (int changes = random.nextInt(3); changes >= 0; changes--) {
                damaged[random.nextInt(damaged.length)] = alphabet[random.nextInt(alphabet.length)];
            }
            assertEquals(isOneObject(damaged), check.firstOffence(damaged) < 0, () -> new String(damaged, UTF_8));
        }
    }

    private static boolean isOneObject(byte[] bytes) throws IOException {
        try (JsonParser parser = JSON.createParser(bytes)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                return false;
            }
            parser.skipChildren();
            return parser.nextToken() == null;
        } catch (IOException malformed) {
            return false;
        }
    }
}
