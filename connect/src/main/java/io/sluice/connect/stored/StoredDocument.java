package io.sluice.connect.stored;

import java.io.IOException;
import java.util.Arrays;

/**
 * What the cluster holds under one {@code _id}.
 *
 * @param version -1 where it says none
 * @param answer the answer that the source stands in, from {@code from} to {@code to}; both 0 without a source
 * @param error the type of the error where the document could not be asked for, otherwise {@code null}
 */
public record StoredDocument(boolean found, long version, byte[] answer, int from, int to, String error) {
    public static StoredDocument unavailable(String error) {
        return new StoredDocument(false, -1, new byte[0], 0, 0, error);
    }

    private boolean hasSource() {
        return to > from;
    }

    public Likeness likenessTo(byte[] sent) {
        if (hasSource() && Arrays.equals(answer, from, to, sent, 0, sent.length)) {
            return Likeness.EQUAL;
        }
        Object[] both = parsed(sent);
        return both == null ? Likeness.UNREADABLE : JsonTree.compare(both[0], both[1]);
    }

    /** Whether it may have been put together from the fields of the document that was sent. */
    public boolean isSyntheticOf(byte[] sent) {
        Object[] both = parsed(sent);
        return both != null && SyntheticSource.areAlike(both[0], both[1]);
    }

    /** Without a message: it may quote the document. */
    private Object[] parsed(byte[] sent) {
        try {
            return hasSource()
                    ? new Object[] {JsonTree.read(sent, 0, sent.length), JsonTree.read(answer, from, to - from)}
                    : null;
        } catch (IOException unreadable) {
            return null;
        }
    }
}
