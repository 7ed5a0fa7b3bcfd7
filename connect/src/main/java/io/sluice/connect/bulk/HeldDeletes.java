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
 *
 * <p>Each target has slots of its own, so that none waits for another one that cannot be served.
 */
final class HeldDeletes implements HeldOperations {
    private static final int MOST_SLOTS = 1 << 16;
    private static final int FEWEST_SLOTS = 1 << 10;

    /** Only those with incomplete operations: where names hold dates, there are ever new ones. */
    private final Map<String, OfTarget> byTarget = new HashMap<>();

    /** One without operations, to be used again. */
    private OfTarget spare = new OfTarget(MOST_SLOTS);

    @Override
    public boolean mustWait(Operation operation) {
        return operation.hasId()
                && byTarget.computeIfAbsent(operation.index(), first -> unused())
                        .mustWait(operation);
    }

    /** All targets share the operations in flight: the more there are, the fewer slots each of them needs. */
    private OfTarget unused() {
        OfTarget unused = spare;
        spare = null;
        return unused != null
                ? unused
                : new OfTarget(Math.max(FEWEST_SLOTS, MOST_SLOTS / Integer.highestOneBit(byTarget.size() + 1)));
    }

    @Override
    public List<Operation> release(Operation completed) {
        if (!completed.hasId()) {
            return List.of();
        }
        OfTarget target = byTarget.get(completed.index());
        List<Operation> released = target.release(completed);
        if (target.isUnused()) {
            byTarget.remove(completed.index());
            spare = target.isLarge() ? target : spare;
        }
        return released;
    }

    /** What is let through stays so: releases follow, which forget the target. */
    @Override
    public List<Operation> takeRevoked() {
        List<Operation> revoked = new ArrayList<>();
        byTarget.values().forEach(target -> target.takeRevoked(revoked));
        return revoked;
    }

    private static boolean isDelete(Operation operation) {
        return operation.kind() == Operation.Kind.DELETE;
    }

    /** The operations on one target. */
    private static final class OfTarget {
        /**
         * Incomplete operations that were let through, by a hash of their id. Two ids that share a slot only make a delete
         * wait longer; a map of all ids in flight would cost every record more.
         */
        private final int[] letThrough;

        /** By slot: a delete and whatever came after it. No queue is empty. */
        private final Map<Integer, ArrayDeque<Operation>> waitingBySlot = new HashMap<>();

        private int incomplete;

        OfTarget(int slots) {
            letThrough = new int[slots];
        }

        boolean isUnused() {
            return incomplete == 0;
        }

        boolean isLarge() {
            return letThrough.length == MOST_SLOTS;
        }

        boolean mustWait(Operation operation) {
            int slot = slot(operation);
            ArrayDeque<Operation> waiting = waitingBySlot.isEmpty() ? null : waitingBySlot.get(slot);
            if (waiting == null && !(isDelete(operation) && letThrough[slot] > 0)) {
                letThrough[slot]++;
                incomplete++;
                return false;
            }
            waitingBySlot.computeIfAbsent(slot, first -> new ArrayDeque<>()).add(operation);
            return true;
        }

        List<Operation> release(Operation completed) {
            int slot = slot(completed);
            letThrough[slot]--;
            incomplete--;
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
            incomplete += released.size();
            if (waiting.isEmpty()) {
                waitingBySlot.remove(slot);
            }
            return released;
        }

        void takeRevoked(List<Operation> revoked) {
            Iterator<ArrayDeque<Operation>> queues = waitingBySlot.values().iterator();
            while (queues.hasNext()) {
                ArrayDeque<Operation> waiting = queues.next();
                waiting.removeIf(operation -> operation.delivery().isRevoked() && revoked.add(operation));
                if (waiting.isEmpty()) {
                    queues.remove();
                }
            }
        }

        private int slot(Operation operation) {
            int hash = operation.idHash();
            return (hash ^ hash >>> 16) & letThrough.length - 1;
        }
    }
}
