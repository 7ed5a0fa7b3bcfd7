package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Keeps order per document where versions cannot: of the operations on one id only the first incomplete one is let
 * through, the others wait for it here.
 */
final class HeldUpserts implements HeldOperations {
    private static final ArrayDeque<Operation> NONE = new ArrayDeque<>(1);

    /** By index and id: whoever waits for the one let through. */
    private final Map<Object, ArrayDeque<Operation>> waitingById = new HashMap<>();

    @Override
    public boolean mustWait(Operation operation) {
        if (!operation.hasId()) {
            return false;
        }
        Object key = key(operation);
        ArrayDeque<Operation> waiting = waitingById.putIfAbsent(key, NONE);
        if (waiting == null) {
            return false;
        }
        if (waiting == NONE) {
            waiting = new ArrayDeque<>();
            waitingById.put(key, waiting);
        }
        waiting.add(operation);
        return true;
    }

    @Override
    public List<Operation> release(Operation completed) {
        if (!completed.hasId()) {
            return List.of();
        }
        Object key = key(completed);
        Operation next = waitingById.get(key).poll();
        if (next == null) {
            waitingById.remove(key);
            return List.of();
        }
        return List.of(next);
    }

    @Override
    public List<Operation> takeRevoked() {
        List<Operation> revoked = new ArrayList<>();
        for (ArrayDeque<Operation> waiting : waitingById.values()) {
            for (Iterator<Operation> all = waiting.iterator(); all.hasNext(); ) {
                Operation operation = all.next();
                if (operation.delivery().isRevoked()) {
                    revoked.add(operation);
                    all.remove();
                }
            }
        }
        return revoked;
    }

    private static Object key(Operation operation) {
        return Map.entry(operation.index(), operation.idKey());
    }
}
