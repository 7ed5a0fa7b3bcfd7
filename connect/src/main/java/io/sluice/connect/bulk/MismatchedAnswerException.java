package io.sluice.connect.bulk;

import java.io.IOException;

/** An answer that has an item for each operation, but not about the documents of these operations. */
final class MismatchedAnswerException extends IOException {
    private static final long serialVersionUID = 1L;

    /**
     * @param item from 1 on
     * @param field what differs: {@code _id}, {@code _index} or {@code action}
     */
    MismatchedAnswerException(int item, int items, String field) {
        super("item " + item + " of " + items + " of the answer has another " + field + " than was sent"
                + (field.equals("action") ? "" : " (if a pipeline changes it, name that in pipeline)"));
    }
}
