package io.sluice.connect.bulk;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What is known of how answers name the documents of requests. */
final class AnswerChecks {
    private static final int MOST_TARGETS = 1_000;

    private final boolean pipelineMayRename;

    /**
     * Targets that answers gave back as {@code _index}. The others are aliases or data streams, which an answer replaces by
     * the index behind them.
     */
    private final Set<String> plainIndices = ConcurrentHashMap.newKeySet();

    /** @param pipelineMayRename whether a pipeline may give a document another {@code _id} or send it to another index */
    AnswerChecks(boolean pipelineMayRename) {
        this.pipelineMayRename = pipelineMayRename;
    }

    boolean pipelineMayRename() {
        return pipelineMayRename;
    }

    boolean isPlainIndex(String target) {
        return plainIndices.contains(target);
    }

    void addPlainIndex(String target) {
        if (plainIndices.size() >= MOST_TARGETS) {
            plainIndices.clear();
        }
        plainIndices.add(target);
    }

    /** An index may be replaced by an alias of its name: the next answer shows it. */
    void forget(String target) {
        plainIndices.remove(target);
    }
}
