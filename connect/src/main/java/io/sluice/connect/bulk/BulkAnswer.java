package io.sluice.connect.bulk;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** The answer to a bulk request: a status for each item and, for the failed ones, the error. */
final class BulkAnswer {
    private static final JsonFactory JSON = new JsonFactory();
    private static final int LEAST_STATUS = 100;
    private static final int MOST_STATUS = 599;

    private final Map<Integer, ItemError> errors = new HashMap<>();
    private int[] statuses;
    private int items;
    private ItemError requestError = ItemError.UNKNOWN;

    private BulkAnswer(int expectedItems) {
        statuses = new int[expectedItems];
    }

    /** Reads the answer to a request of that many items; an answer to another number, or without a status, is an IOException. */
    static BulkAnswer read(InputStream body, int expectedItems) throws IOException {
        BulkAnswer answer = new BulkAnswer(expectedItems);
        try (JsonParser parser = JSON.createParser(body)) {
            answer.readObject(parser);
        }
        if (answer.items != expectedItems) {
            throw new IOException("the answer holds " + answer.items + " items, expected " + expectedItems);
        }
        answer.requireStatuses();
        return answer;
    }

    /** Reads the error in the body of a refused request; what cannot be read is an unknown error. */
    static ItemError readError(InputStream body) {
        BulkAnswer answer = new BulkAnswer(0);
        try (JsonParser parser = JSON.createParser(body)) {
            answer.readObject(parser);
        } catch (IOException notJson) {
            return ItemError.UNKNOWN;
        }
        return answer.requestError;
    }

    /** Without one an item would be taken for rejected, and its record be lost. */
    private void requireStatuses() throws IOException {
        for (int status : statuses) {
            if (status < LEAST_STATUS || status > MOST_STATUS) {
                throw new IOException("an item of the answer has no HTTP status");
            }
        }
    }

    int status(int item) {
        return statuses[item];
    }

    /** The error of a failed item, {@code null} for one that succeeded. */
    ItemError error(int item) {
        return errors.get(item);
    }

    private void readObject(JsonParser parser) throws IOException {
        if (parser.nextToken() != JsonToken.START_OBJECT) {
            throw new IOException("the answer is no JSON object");
        }
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String field = parser.currentName();
            JsonToken value = parser.nextToken();
            if (field.equals("items") && value == JsonToken.START_ARRAY) {
                readItems(parser);
            } else if (field.equals("error") && value == JsonToken.START_OBJECT) {
                requestError = readItemError(parser);
            } else {
                parser.skipChildren();
            }
        }
    }

    private void readItems(JsonParser parser) throws IOException {
        while (parser.nextToken() == JsonToken.START_OBJECT) {
            parser.nextToken();
            parser.nextToken();
            readItem(parser);
            if (parser.nextToken() != JsonToken.END_OBJECT) {
                throw new IOException("an item of the answer holds more than one operation");
            }
        }
    }

    private void readItem(JsonParser parser) throws IOException {
        if (items == statuses.length) {
            statuses = Arrays.copyOf(statuses, 2 * items + 1);
        }
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String field = parser.currentName();
            JsonToken value = parser.nextToken();
            if (field.equals("status")) {
                statuses[items] = parser.getIntValue();
            } else if (field.equals("error") && value == JsonToken.START_OBJECT) {
                errors.put(items, readItemError(parser));
            } else {
                parser.skipChildren();
            }
        }
        items++;
    }

    private static ItemError readItemError(JsonParser parser) throws IOException {
        String type = "unknown";
        String reason = "";
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String field = parser.currentName();
            parser.nextToken();
            if (field.equals("type")) {
                type = parser.getValueAsString("unknown");
            } else if (field.equals("reason")) {
                reason = parser.getValueAsString("");
            } else {
                parser.skipChildren();
            }
        }
        return new ItemError(type, reason);
    }
}
