package io.sluice.connect.stored;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON as maps, lists, strings, booleans, {@code null} and decimals, to be compared by value: the order of members and the
 * way a number is written mean nothing.
 */
final class JsonTree {
    /** Elasticsearch takes comments in documents, too. */
    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(JsonReadFeature.ALLOW_JAVA_COMMENTS)
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxStringLength(Integer.MAX_VALUE)
                    .build())
            .build();

    private JsonTree() {}

    /** @throws IOException it is no JSON, has a key twice, or is nested too deep */
    static Object read(byte[] json, int from, int length) throws IOException {
        try (JsonParser parser = JSON.createParser(json, from, length)) {
            parser.nextToken();
            return value(parser);
        } catch (ArithmeticException | NumberFormatException tooLarge) {
            throw new IOException("a number is too large");
        }
    }

    private static Object value(JsonParser parser) throws IOException {
        JsonToken token = parser.currentToken();
        if (token == null) {
            throw new IOException("the JSON ends too early");
        }
        return switch (token) {
            case START_OBJECT -> members(parser);
            case START_ARRAY -> elements(parser);
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> parser.getDecimalValue();
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            case VALUE_NULL -> null;
            default -> parser.getText();
        };
    }

    private static Map<String, Object> members(JsonParser parser) throws IOException {
        Map<String, Object> members = new HashMap<>();
        for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
            parser.nextToken();
            members.put(name, value(parser));
        }
        return members;
    }

    private static List<Object> elements(JsonParser parser) throws IOException {
        List<Object> elements = new ArrayList<>();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            elements.add(value(parser));
        }
        return elements;
    }

    static Likeness compare(Object sent, Object stored) {
        boolean isPart = isWithin(stored, sent);
        boolean isExtended = isWithin(sent, stored);
        if (isPart) {
            return isExtended ? Likeness.EQUAL : Likeness.PART;
        }
        return isExtended ? Likeness.EXTENDED : Likeness.DIFFERENT;
    }

    /** Whether it is the other one, or that without some members of objects. */
    private static boolean isWithin(Object part, Object whole) {
        if (part instanceof Map<?, ?> members) {
            return whole instanceof Map<?, ?> all
                    && members.entrySet().stream()
                            .allMatch(member -> all.containsKey(member.getKey())
                                    && isWithin(member.getValue(), all.get(member.getKey())));
        }
        if (part instanceof List<?> elements) {
            return whole instanceof List<?> all && areWithin(elements, all);
        }
        if (part instanceof BigDecimal number) {
            return whole instanceof BigDecimal other && number.compareTo(other) == 0;
        }
        return part == null ? whole == null : part.equals(whole);
    }

    private static boolean areWithin(List<?> elements, List<?> all) {
        if (elements.size() != all.size()) {
            return false;
        }
        for (int i = 0; i < elements.size(); i++) {
            if (!isWithin(elements.get(i), all.get(i))) {
                return false;
            }
        }
        return true;
    }
}
