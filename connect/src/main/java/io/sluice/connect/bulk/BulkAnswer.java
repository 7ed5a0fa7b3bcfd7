package io.sluice.connect.bulk;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.sluice.connect.encode.Operation;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The answer to a bulk request: a status for each of its operations and, for the failed ones, the error. */
final class BulkAnswer {
    private static final JsonFactory JSON = new JsonFactory();
    private static final int LEAST_STATUS = 100;
    private static final int MULTIPLE_CHOICES = 300;
    private static final int MOST_STATUS = 599;
    private static final int CONFLICT = 409;
    private static final int BUSY = 429;
    private static final int SERVER_ERROR = 500;

    private final Map<Integer, ItemError> errors = new HashMap<>();
    private final Map<Integer, ItemResult> results = new HashMap<>();
    private final Map<Integer, Place> conflicts = new TreeMap<>();
    private final Map<Integer, Outcome> decided = new HashMap<>();
    private final ItemCheck check;
    private final int[] statuses;
    private boolean muddled;
    private int items;
    private ItemError requestError = ItemError.UNKNOWN;

    /** Where a document is, as an item names it. */
    record Place(String index, String id) {}

    private BulkAnswer(int[] statuses, ItemCheck check) {
        this.statuses = statuses;
        this.check = check;
    }

    /**
     * Reads the answer to a request.
     *
     * @throws MismatchedAnswerException an item is about another document than its operation
     * @throws IOException there is not one item with a status for each operation
     */
    static BulkAnswer read(byte[] body, String target, List<Operation> operations, AnswerChecks checks)
            throws IOException {
        int[] plain = PlainAnswer.statuses(body, target, operations, checks);
        return plain == null ? parse(body, target, operations, checks) : new BulkAnswer(plain, null);
    }

    private static BulkAnswer parse(byte[] body, String target, List<Operation> operations, AnswerChecks checks)
            throws IOException {
        ItemCheck check = new ItemCheck(target, operations, checks);
        BulkAnswer answer = new BulkAnswer(new int[operations.size()], check);
        try (JsonParser parser = JSON.createParser(body)) {
            answer.readObject(parser);
        }
        if (answer.items != operations.size()) {
            throw new IOException("the answer holds " + answer.items + " items, expected " + operations.size());
        }
        answer.requireStatuses();
        answer.move(check.places());
        answer.findMuddle(operations);
        return answer;
    }

    /** Reads the error in the body of a refused request; what cannot be read is an unknown error. */
    static ItemError readError(byte[] body) {
        BulkAnswer answer = new BulkAnswer(new int[0], null);
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

    /** Puts items that stand in each other's places into their own. */
    private void move(Map<Integer, Integer> places) {
        int[] found = statuses.clone();
        places.forEach((from, to) -> statuses[to] = found[from]);
        move(errors, places);
        move(results, places);
        move(conflicts, places);
    }

    private static <T> void move(Map<Integer, T> byItem, Map<Integer, Integer> places) {
        Map<Integer, T> found = new HashMap<>(byItem);
        byItem.keySet().removeAll(places.keySet());
        places.forEach((from, to) -> {
            if (found.containsKey(from)) {
                byItem.put(to, found.get(from));
            }
        });
    }

    /** Looks for items that may stand in each other's places, see {@link Displaced}, and have no id of ours to tell it. */
    private void findMuddle(List<Operation> operations) {
        boolean isAnyFailed = false;
        boolean isAnyDropped = false;
        for (int item = 0; item < statuses.length; item++) {
            boolean isUnnamed = !operations.get(item).hasId();
            isAnyFailed |= isUnnamed && mayPipelineHaveFailed(item);
            isAnyDropped |= isUnnamed && result(item) == ItemResult.NOOP;
        }
        muddled = isAnyFailed && isAnyDropped;
    }

    /** A busy cluster is not asked again at once. */
    private boolean mayPipelineHaveFailed(int item) {
        return errors.containsKey(item) && statuses[item] <= SERVER_ERROR && statuses[item] != BUSY;
    }

    /** Whether it cannot be told which of several documents was dropped and which one failed. */
    boolean isMuddled() {
        return muddled;
    }

    /** Whether it may be another document that this item, which stored none, is about. */
    boolean isDoubtful(int item, Operation operation) {
        return muddled && !operation.hasId() && (mayPipelineHaveFailed(item) || result(item) == ItemResult.NOOP);
    }

    /** Whether the cluster did what any of the operations asks for. */
    boolean isAnyStored() {
        for (int item = 0; item < statuses.length; item++) {
            if (statuses[item] < MULTIPLE_CHOICES && result(item) == ItemResult.STORED) {
                return true;
            }
        }
        return false;
    }

    int status(int item) {
        return statuses[item];
    }

    /** The error of a failed item, {@code null} for one that succeeded. */
    ItemError error(int item) {
        return errors.get(item);
    }

    /** What the cluster did with an item that succeeded. */
    ItemResult result(int item) {
        return results.getOrDefault(item, ItemResult.STORED);
    }

    /** The items answered 409, by their number, and what they name. */
    Map<Integer, Place> conflicts() {
        return conflicts;
    }

    /** Notes the outcome of an item that its status alone does not tell. */
    void decide(int item, Outcome outcome) {
        decided.put(item, outcome);
    }

    /** Notes that an item's document is another record's. */
    void reject(int item, String reason) {
        decide(item, Outcome.REJECTED);
        errors.put(item, ItemError.idConflict(reason));
    }

    Outcome outcome(int item, Operation operation, boolean mayCreate) {
        Outcome known = decided.get(item);
        return known == null ? Outcome.ofItem(operation, status(item), result(item), error(item), mayCreate) : known;
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
            if (items < statuses.length) {
                String action = parser.nextFieldName();
                parser.nextToken();
                readItem(parser, action);
                if (parser.nextToken() != JsonToken.END_OBJECT) {
                    throw new IOException("an item of the answer holds more than one operation");
                }
            } else {
                parser.skipChildren();
            }
            items++;
        }
    }

    private void readItem(JsonParser parser, String action) throws IOException {
        check.begin(items, action);
        String index = null;
        String id = null;
        for (String field = parser.nextFieldName(); field != null; field = parser.nextFieldName()) {
            JsonToken value = parser.nextToken();
            switch (field) {
                case "_id" -> {
                    check.id(parser);
                    id = parser.getText();
                }
                case "_index" -> {
                    check.index(parser);
                    index = parser.getText();
                }
                case "result" -> {
                    if ("noop".equals(parser.getValueAsString())) {
                        results.put(items, ItemResult.NOOP);
                    }
                }
                case "failure_store" -> {
                    if ("used".equals(parser.getValueAsString())) {
                        results.put(items, ItemResult.REDIRECTED);
                    }
                }
                case "status" -> statuses[items] = parser.getIntValue();
                case "error" -> {
                    if (value == JsonToken.START_OBJECT) {
                        errors.put(items, readItemError(parser));
                    }
                }
                default -> parser.skipChildren();
            }
        }
        if (statuses[items] == CONFLICT && index != null && id != null) {
            conflicts.put(items, new Place(index, id));
        }
        check.end(errors.containsKey(items) ? null : result(items), id);
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
