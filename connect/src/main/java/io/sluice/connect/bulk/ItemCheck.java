package io.sluice.connect.bulk;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.encode.Operation.Kind;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * Compares the items of one answer with the operations that were sent: action, {@code _id} where it is ours, and
 * {@code _index} where the target is an index itself. Notes the first difference.
 */
final class ItemCheck {
    private static final int NONE = -1;

    private final String target;
    private final List<Operation> operations;
    private final AnswerChecks checks;
    private final Displaced displaced = new Displaced();

    private int item;
    private Operation operation;
    private boolean isNamed;
    private boolean isInTarget;
    private boolean hasIndex;
    private int firstElsewhere = NONE;
    private boolean isAnyInTarget;
    private MismatchedAnswerException mismatch;

    ItemCheck(String target, List<Operation> operations, AnswerChecks checks) {
        this.target = target;
        this.operations = operations;
        this.checks = checks;
    }

    void begin(int number, String action) {
        item = number;
        operation = operations.get(number);
        isNamed = !operation.hasId();
        isInTarget = false;
        hasIndex = false;
        if (!operation.kind().isCalled(action)) {
            note(item, "action");
        }
    }

    void id(JsonParser parser) throws IOException {
        if (!isNamed && parser.currentToken() == JsonToken.VALUE_STRING) {
            char[] text = parser.getTextCharacters();
            int from = parser.getTextOffset();
            int length = parser.getTextLength();
            isNamed = operation.hasId(text, from, length)
                    || mayBeRenamed() && operations.stream().noneMatch(other -> other.hasId(text, from, length));
        }
    }

    /** Pipelines do not see updates and deletes. */
    private boolean mayBeRenamed() {
        return checks.pipelineMayRename() && (operation.kind() == Kind.INDEX || operation.kind() == Kind.CREATE);
    }

    void index(JsonParser parser) throws IOException {
        hasIndex = parser.currentToken() == JsonToken.VALUE_STRING;
        isInTarget = hasIndex && isTarget(parser.getTextCharacters(), parser.getTextOffset(), parser.getTextLength());
    }

    private boolean isTarget(char[] text, int from, int length) {
        if (length != target.length()) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            if (text[from + i] != target.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    /**
     * To be called after an item's fields. One that failed or was dropped may be named by the target that was asked for,
     * whatever stands behind it.
     *
     * @param result what the cluster did, {@code null} where it failed
     * @param id what the item names, or {@code null}
     */
    void end(ItemResult result, String id) {
        if (!isNamed && result != ItemResult.REDIRECTED) {
            noteOtherId(result, id);
        }
        if (result == ItemResult.STORED) {
            if (isInTarget) {
                isAnyInTarget = true;
            } else if (firstElsewhere == NONE) {
                firstElsewhere = item;
            }
            if (!hasIndex) {
                note(item, "_index");
            }
        }
    }

    private void noteOtherId(ItemResult result, String id) {
        if (result == ItemResult.STORED || id == null) {
            note(item, "_id");
        } else {
            displaced.add(item, id);
        }
    }

    private void note(int number, String field) {
        mismatch = mismatch == null ? new MismatchedAnswerException(number + 1, operations.size(), field) : mismatch;
    }

    /**
     * To be called once all items are read.
     *
     * @return the places of items that stand in each other's, by where they stand
     */
    Map<Integer, Integer> places() throws MismatchedAnswerException {
        Map<Integer, Integer> places = displaced.isEmpty() ? Map.of() : displaced.places(operations);
        if (places == null) {
            note(displaced.first(), "_id");
        }
        throwMismatch();
        return places;
    }

    private void throwMismatch() throws MismatchedAnswerException {
        boolean isPlain = isAnyInTarget || checks.isPlainIndex(target);
        if (isPlain && firstElsewhere != NONE && !checks.pipelineMayRename()) {
            note(firstElsewhere, "_index");
        }
        if (mismatch != null) {
            checks.forget(target);
            throw mismatch;
        }
        if (isAnyInTarget) {
            checks.addPlainIndex(target);
        }
    }
}
