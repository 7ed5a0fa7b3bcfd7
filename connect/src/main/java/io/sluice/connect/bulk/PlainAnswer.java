package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.encode.Operation;
import java.util.Arrays;
import java.util.List;

/**
 * Reads the answer that nearly all are, in which every item succeeded and is written as Elasticsearch writes it, by
 * comparing bytes: several times as fast as parsing. Whatever is not byte for byte as expected is left to the parser.
 */
final class PlainAnswer {
    private static final byte[] BEGIN = ascii("{\"items\":[");
    private static final byte[] END = ascii("]}");
    private static final byte[] INDEX = ascii("\":{\"_index\":\"");
    private static final byte[][] BEGINS = {
        ascii("{\"index"), ascii("{\"create"), ascii("{\"update"), ascii("{\"delete")
    };
    private static final byte[] ID = ascii("\",\"_id\":\"");
    private static final byte[] RESULT = ascii("\",\"result\":\"");
    private static final byte[][] OUTCOMES = {
        ascii("created\",\"status\":201}}"), ascii("updated\",\"status\":200}}"), ascii("deleted\",\"status\":200}}")
    };
    private static final int[] STATUSES = {201, 200, 200};
    private static final byte[] COMMA = {','};

    private final byte[] answer;
    private int at;

    private PlainAnswer(byte[] answer) {
        this.answer = answer;
    }

    private static byte[] ascii(String text) {
        return text.getBytes(US_ASCII);
    }

    /** The status of each operation, or {@code null} where the parser has to look. */
    static int[] statuses(byte[] answer, String target, List<Operation> operations, AnswerChecks checks) {
        return new PlainAnswer(answer).read(target, operations, checks);
    }

    private int[] read(String target, List<Operation> operations, AnswerChecks checks) {
        int[] statuses = new int[operations.size()];
        if (statuses.length == 0 || !skip(BEGIN)) {
            return null;
        }
        byte[] index = null;
        for (int i = 0; i < statuses.length; i++) {
            Operation operation = operations.get(i);
            if (!skip(BEGINS[operation.kind().ordinal()]) || !skip(INDEX)) {
                return null;
            }
            index = index == null ? untilQuote() : index;
            if (index == null || !skip(index) || !skip(ID) || !skipId(operation) || !skip(RESULT)) {
                return null;
            }
            statuses[i] = status();
            if (statuses[i] == 0 || !skip(i + 1 < statuses.length ? COMMA : END)) {
                return null;
            }
        }
        return at == answer.length && isExpected(new String(index, UTF_8), target, checks) ? statuses : null;
    }

    private static boolean isExpected(String index, String target, AnswerChecks checks) {
        if (index.equals(target)) {
            checks.addPlainIndex(target);
            return true;
        }
        return !checks.isPlainIndex(target);
    }

    private boolean skip(byte[] expected) {
        int end = at + expected.length;
        if (end > answer.length || !Arrays.equals(answer, at, end, expected, 0, expected.length)) {
            return false;
        }
        at = end;
        return true;
    }

    /** What stands before the next quote, without passing it. */
    private byte[] untilQuote() {
        for (int i = at; i < answer.length; i++) {
            if (answer[i] == '"' || answer[i] == '\\') {
                return answer[i] == '"' ? Arrays.copyOfRange(answer, at, i) : null;
            }
        }
        return null;
    }

    private boolean skipId(Operation operation) {
        if (operation.hasId()) {
            return skip(operation.id());
        }
        byte[] id = untilQuote();
        return id != null && skip(id);
    }

    /** The status in the rest of an item, 0 if that is another. */
    private int status() {
        for (int i = 0; i < OUTCOMES.length; i++) {
            if (skip(OUTCOMES[i])) {
                return STATUSES[i];
            }
        }
        return 0;
    }
}
