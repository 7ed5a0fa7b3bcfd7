package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Keeps every delete behind the earlier operations on its document, and what follows a waiting delete behind it.
 *
 * <p>Versions alone would not do: Elasticsearch forgets that of a deleted document after {@code index.gc_deletes}, or
 * when it restarts, and an earlier operation that is repeated after that would bring the document back.
 */
final class HeldDeletes implements HeldOperations {
    private static final int SLOTS = 1 << 16;

    /**
     * Incomplete operations that were let through, by a hash of their id. Two ids that share a slot only make a delete
     * wait longer; a map of all ids in flight would cost every record more.
     */
    private final int[] letThrough = new int[SLOTS];

    /** By slot: a delete and whatever came after it. No queue is empty. */
    private final Map<Integer, ArrayDeque<Operation>> waitingBySlot = new HashMap<>();

    @Override
    public boolean mustWait(Operation operation) {
        if (!operation.hasId()) {
            return false;
        }
        int slot = slot(operation);
        ArrayDeque<Operation> waiting = waitingBySlot.isEmpty() ? null : waitingBySlot.get(slot);
        if (waiting == null && !(isDelete(operation) && letThrough[slot] > 0)) {
            letThrough[slot]++;
            return false;
        }
        waitingBySlot.computeIfAbsent(slot, first -> new ArrayDeque<>()).add(operation);
        return true;
    }

    @Override
    public List<Operation> release(Operation completed) {
        if (!completed.hasId()) {
            return List.of();
        }
        int slot = slot(completed);
        letThrough[slot]--;
        boolean anyWaits = letThrough[slot] == 0 && !waitingBySlot.isEmpty() && waitingBySlot.containsKey(slot);
        return anyWaits ? upToTheNextDelete(slot) : List.of();
    }

    private List<Operation> upToTheNextDelete(int slot) {
        ArrayDeque<Operation> waiting = waitingBySlot.get(slot);
        List<Operation> released = new ArrayList<>();
        do {
            released.add(waiting.poll());
        } while (!waiting.isEmpty() && !isDelete(waiting.peek()));
        letThrough[slot] += released.size();
        if (waiting.isEmpty()) {
            waitingBySlot.remove(slot);
        }
        return released;
    }

    @Override
    public List<Operation> takeRevoked() {
        List<Operation> revoked = new ArrayList<>();
        Iterator<ArrayDeque<Operation>> queues = waitingBySlot.values().iterator();
        while (queues.hasNext()) {
            ArrayDeque<Operation> waiting = queues.next();
            waiting.removeIf(operation -> operation.delivery().isRevoked() && revoked.add(operation));
            if (waiting.isEmpty()) {
                queues.remove();
            }
        }
        return revoked;
    }

    private static boolean isDelete(Operation operation) {
        return operation.kind() == Operation.Kind.DELETE;
    }

    private static int slot(Operation operation) {
        int hash = operation.idHash();
        return (hash ^ hash >>> 16) & SLOTS - 1;
    }
}
