package io.sluice.connect.stored;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JsonTreeTest {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private static Object tree(String json) throws IOException {
        byte[] bytes = ("x" + json + "x").getBytes(UTF_8);
        return JsonTree.read(bytes, 1, bytes.length - 2);
    }

    private static Likeness compare(String sent, String stored) throws IOException {
        return JsonTree.compare(tree(sent), tree(stored));
    }

    /** Values decide: order of members, spaces, escapes and the way a number is written do not. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '\0',
            value = {
                "{\"a\":1,\"b\":2}|{ \"b\" : 2, \"a\" : 1 }|EQUAL",
                "{\"n\":1}|{\"n\":1.0}|EQUAL",
                "{\"n\":1}|{\"n\":1e0}|EQUAL",
                "{\"n\":100}|{\"n\":1E+2}|EQUAL",
                "{\"n\":0}|{\"n\":-0}|EQUAL",
                "{\"n\":0}|{\"n\":-0.0e7}|EQUAL",
                "{\"n\":0.1}|{\"n\":0.1000000000000000055511151231257827}|DIFFERENT",
                "{\"n\":9007199254740993}|{\"n\":9007199254740992}|DIFFERENT",
                "{\"n\":9007199254740993}|{\"n\":9.007199254740993e15}|EQUAL",
                "{\"n\":18446744073709551616}|{\"n\":18446744073709551617}|DIFFERENT",
                "{\"n\":1e999999}|{\"n\":10e999998}|EQUAL",
                "{\"n\":1e999999}|{\"n\":1}|DIFFERENT",
                "{\"n\":1}|{\"n\":\"1\"}|DIFFERENT",
                "{\"n\":true}|{\"n\":\"true\"}|DIFFERENT",
                "{\"n\":null}|{\"n\":null}|EQUAL",
                "{\"n\":null}|{}|PART",
                "{}|{\"n\":null}|EXTENDED",
                "{\"\\u0061\":\"\\u00e4\\/\"}|{\"a\":\"ä/\"}|EQUAL",
                "{\"a\\\"b\":1}|{\"a\\u0022b\":1}|EQUAL",
                "{\"𝄞\":1}|{\"\\ud834\\udd1e\":1}|EQUAL",
                "{\"a\":[1,2]}|{\"a\":[2,1]}|DIFFERENT",
                "{\"a\":[1,2]}|{\"a\":[1,2,3]}|DIFFERENT",
                "{\"a\":[1]}|{\"a\":1}|DIFFERENT",
                "{\"a\":{\"b\":1,\"c\":2}}|{\"a\":{\"c\":2}}|PART",
                "{\"a\":[{\"b\":1}]}|{\"a\":[{\"b\":1,\"c\":2}]}|EXTENDED",
                "{\"a\":{\"b\":1}}|{\"a.b\":1}|DIFFERENT",
                "{\"a\":1,\"b\":2}|{\"b\":2,\"c\":3}|DIFFERENT",
                "{\"a\":{}}|{\"a\":[]}|DIFFERENT",
                "{/**/\"a\":1}//|{\"a\":1}|EQUAL",
            })
    void valuesDecide(String sent, String stored, Likeness expected) throws IOException {
        assertEquals(expected, compare(sent, stored));
    }

    /** What has a key twice, is nested without end or is no JSON cannot be compared. */
    @Test
    void whatIsNoPlainJsonIsUnreadable() {
        String[] documents = {
            "{\"a\":1,\"a\":1}", "{\"a\":1", "", "{\"a\":}", "[".repeat(100_000), "{\"a\":1e99999999999}"
        };
        for (String document : documents) {
            assertThrows(
                    IOException.class,
                    () -> tree(document),
                    () -> document.substring(0, Math.min(9, document.length())));
        }
    }

    /** Whatever is written in another order and with other numerals is equal; whatever has one leaf changed is not. */
    @Test
    void randomDocumentsAreEqualUntilALeafIsChanged() throws IOException {
        Random random = new Random(41);
        for (int i = 0; i < 2_003; i++) {
            JsonNode document = object(random, 4);
            String sent = document.toString();
            assertEquals(Likeness.EQUAL, compare(sent, rewritten(document, random)), sent);
            ObjectNode other = document.deepCopy();
            ObjectNode place = anyObject(other, random);
            place.put("changed" + i, 1);
            assertEquals(Likeness.EXTENDED, compare(sent, rewritten(other, random)), sent);
            assertEquals(Likeness.PART, compare(rewritten(other, random), sent), sent);
            ObjectNode third = other.deepCopy();
            assertEquals(
                    Likeness.DIFFERENT,
                    compare(other.toString(), changed(third, i).toString()),
                    sent);
        }
    }

    private static ObjectNode changed(ObjectNode document, int i) {
        document.findParents("changed" + i).forEach(parent -> ((ObjectNode) parent).put("changed" + i, 2));
        return document;
    }

    private static ObjectNode anyObject(ObjectNode root, Random random) {
        List<ObjectNode> objects = new ArrayList<>(List.of(root));
        root.forEach(child -> {
            if (child instanceof ObjectNode object) {
                objects.add(object);
            }
        });
        return objects.get(random.nextInt(objects.size()));
    }

    private static ObjectNode object(Random random, int depth) {
        ObjectNode object = MAPPER.createObjectNode();
        int members = 1 + random.nextInt(5);
        for (int i = 0; i < members; i++) {
            object.set("m" + random.nextInt(50) + "\"\u00e4", value(random, depth));
        }
        return object;
    }

    private static JsonNode value(Random random, int depth) {
        return switch (random.nextInt(depth == 0 ? 6 : 8)) {
            case 0 -> MAPPER.getNodeFactory().textNode("t\u0001\\" + random.nextInt());
            case 1 -> MAPPER.getNodeFactory().numberNode(random.nextLong());
            case 2 -> MAPPER.getNodeFactory().numberNode(new BigInteger(120, random));
            case 3 -> MAPPER.getNodeFactory().numberNode(random.nextInt(1_000));
            case 4 -> MAPPER.getNodeFactory().booleanNode(random.nextBoolean());
            case 5 -> MAPPER.getNodeFactory().nullNode();
            case 6 -> object(random, depth - 1);
            default -> {
                ArrayNode array = MAPPER.createArrayNode();
                for (int i = random.nextInt(4); i > 0; i--) {
                    array.add(value(random, depth - 1));
                }
                yield array;
            }
        };
    }

    /** The same document as another program would write it. */
    private static String rewritten(JsonNode node, Random random) {
        if (node.isObject()) {
            List<String> members = new ArrayList<>();
            node.properties()
                    .forEach(member -> members.add(MAPPER.getNodeFactory().textNode(member.getKey()) + " :"
                            + rewritten(member.getValue(), random)));
            Collections.shuffle(members, random);
            return "{" + String.join(",\n", members) + "}";
        }
        if (node.isArray()) {
            List<String> elements = new ArrayList<>();
            node.forEach(element -> elements.add(rewritten(element, random)));
            return "[ " + String.join(" , ", elements) + "]";
        }
        if (node.isNumber()) {
            return node + (random.nextBoolean() ? ".00" : "e0");
        }
        return node.toString();
    }
}
