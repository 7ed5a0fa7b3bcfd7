package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OneLineTest {
    private static final JsonFactory STRICT = new JsonFactory();

    /** Takes comments, as Elasticsearch's does. */
    private static final JsonFactory ELASTICSEARCHS =
            JsonFactory.builder().enable(JsonReadFeature.ALLOW_JAVA_COMMENTS).build();

    private static final int COUNT = Integer.getInteger("line.count", 100_003);

    /** Bytes as ISO 8859-1. */
    private static final List<String> HARMLESS = Stream.of(
                    "a",
                    "x: 1",
                    "\"12345678\"",
                    "*",
                    "/",
                    ":",
                    ".",
                    "+",
                    " / ",
                    "https://",
                    "file:///",
                    "한",
                    "가힣",
                    "é",
                    "€",
                    "\u0800",
                    "\uD7FF",
                    "\uE000",
                    "\uFFFF",
                    "\uD83D\uDE00",
                    "\uD800\uDC00",
                    "\uDBFF\uDFFF",
                    "\u007F")
            .map(text -> new String(text.getBytes(UTF_8), ISO_8859_1))
            .toList();

    /** Comments, controls, and what is just no UTF-8: too short, too long, overlong, surrogates, beyond U+10FFFF. */
    private static final List<String> HOSTILE = List.of(
            "//",
            "/*",
            "*/",
            "://*",
            "/+/",
            "\n",
            "\r",
            "\0",
            "\u001F",
            "\u0080",
            "\u00BF",
            "\u00C0\u0080",
            "\u00C1\u00BF",
            "\u00C2",
            "\u00E0",
            "\u00E0\u009F\u00BF",
            "\u00EA\u00B0",
            "\u00ED\u00A0\u0080",
            "\u00EF\u00BF",
            "\u00F0\u008F\u00BF\u00BF",
            "\u00F0\u009F\u0098",
            "\u00F4\u0090\u0080\u0080",
            "\u00F5\u0080\u0080\u0080",
            "\u00FF");

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

    /** What may be a comment does not pass, wherever in a word it stands; asterisks, slashes and URLs do. */
    @Test
    void noCommentPasses() {
        for (int padding = 0; padding < 19; padding++) {
            for (String filling : new String[] {"x", "가"}) {
                String before = "{" + filling.repeat(padding);
                for (String comment : new String[] {"/**/", "//", "///", "://*", ":/ //", "https:// //"}) {
                    for (String behind : new String[] {"", "12345678"}) {
                        String text = before + comment + behind + "}";
                        assertFalse(OneLine.isBraced(text.getBytes(UTF_8)), text);
                    }
                }
                for (String harmless : new String[] {"*/ ** / /", "https://a/b/c:////", ":/", "/"}) {
                    String text = before + harmless + "12345678}";
                    assertTrue(OneLine.isBraced(text.getBytes(UTF_8)), text);
                }
            }
        }
    }

    /** Whatever passes and Elasticsearch's reader takes for one object is JSON: all texts of up to seven characters. */
    @Test
    void noShortTextPassesThatOnlyElasticsearchTakesForJson() {
        assertTrue(stricterThanElasticsearch(List.of("{", "}", "\"", "/", "*", ":", "\\", "a", "1", ","), 5) > 9);
    }

    /** Likewise with members, comments and URLs put together from five pieces. */
    @Test
    void noPiecesPassThatOnlyElasticsearchTakesForJson() {
        List<String> pieces =
                List.of("\"a\":", "\"b\":", "\"", "http://", "//", "/*", "*/", "\\", "1", ",", "{", "}", " ");
        assertTrue(stricterThanElasticsearch(pieces, 5) > 99);
    }

    /** How many texts of so many pieces between braces pass and are JSON; none may be JSON to Elasticsearch alone. */
    private static int stricterThanElasticsearch(List<String> pieces, int most) {
        int json = 0;
        List<String> texts = List.of("{");
        for (int length = 0; length <= most; length++) {
            for (String text : texts) {
                byte[] bytes = (text + "}").getBytes(UTF_8);
                if (OneLine.isBraced(bytes) && isOneObject(ELASTICSEARCHS, bytes)) {
                    assertTrue(isOneObject(STRICT, bytes), text + "}");
                    json++;
                }
            }
            texts = texts.stream()
                    .flatMap(text -> pieces.stream().map(piece -> text + piece))
                    .toList();
        }
        return json;
    }

    private static boolean isOneObject(JsonFactory json, byte[] text) {
        try (JsonParser parser = json.createParser(text)) {
            parser.nextToken();
            parser.skipChildren();
            return parser.nextToken() == null;
        } catch (IOException notJson) {
            return false;
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

    /**
     * Random pieces, with hostile ones among them, wherever in a block: the answers are those of the code before this one.
     * By hand: {@code mvn test -Dtest=OneLineTest -Dline.count=10000000}.
     */
    @Test
    void answersAreThoseOfTheFormerCode() {
        Random random = new Random(20261127);
        int passed = 0;
        for (int round = 0; round < COUNT; round++) {
            byte[] text = text(random);
            boolean expected = FormerOneLine.isBraced(text);
            assertEquals(expected, OneLine.isBraced(text), () -> new String(text, ISO_8859_1));
            passed += expected ? 1 : 0;
        }
        assertTrue(passed > COUNT / 4 && passed < 3 * COUNT / 4, passed + " of them passed");
    }

    private static byte[] text(Random random) {
        int pieces = random.nextInt(20);
        int hostility = random.nextInt(4) * random.nextInt(10);
        StringBuilder text = new StringBuilder("{");
        for (int i = 0; i < pieces; i++) {
            List<String> from = random.nextInt(100) < hostility ? HOSTILE : HARMLESS;
            text.append(from.get(random.nextInt(from.size())));
        }
        byte[] bytes = text.append(random.nextInt(50) > 0 ? "}" : "").toString().getBytes(ISO_8859_1);
        if (random.nextInt(4) == 0) {
            bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
        }
        return bytes;
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
