package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.shard.ShardRouting;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** The operations that wait for one index: in the order of their arrival, by the shard that they go to. */
final class Waiting {
    private ShardRouting routing = ShardRouting.UNKNOWN;

    /** One for each shard, and the last for operations that no shard is known of. */
    private List<ArrayDeque<Operation>> queues = queues(routing);

    private int size;
    private long bytes;

    private static List<ArrayDeque<Operation>> queues(ShardRouting routing) {
        List<ArrayDeque<Operation>> queues = new ArrayList<>(routing.shards() + 1);
        for (int shard = 0; shard <= routing.shards(); shard++) {
            queues.add(new ArrayDeque<>());
        }
        return queues;
    }

    /** Places what waits anew where the index has other shards than before; operations of one document stay in order. */
    void route(ShardRouting current) {
        if (routing.equals(current)) {
            return;
        }
        List<ArrayDeque<Operation>> before = queues;
        routing = current;
        queues = queues(current);
        before.forEach(queue ->
                queue.forEach(operation -> queues.get(queueOf(operation)).add(operation)));
    }

    private int queueOf(Operation operation) {
        int shard = routing.shardOf(operation);
        return shard == ShardRouting.NO_SHARD ? routing.shards() : shard;
    }

    int size() {
        return size;
    }

    boolean isEmpty() {
        return size == 0;
    }

    /** Bytes that all of them take in the bodies of requests. */
    long bytes() {
        return bytes;
    }

    void add(Operation operation) {
        queues.get(queueOf(operation)).add(operation);
        count(operation, 1);
    }

    /** Puts operations back before all others, in order. */
    void addFirst(List<Operation> operations) {
        for (int i = operations.size() - 1; i >= 0; i--) {
            queues.get(queueOf(operations.get(i))).addFirst(operations.get(i));
            count(operations.get(i), 1);
        }
    }

    private void count(Operation operation, int sign) {
        size += sign;
        bytes += sign * (long) operation.bodyBytes();
    }

    /** When the first of those that may go next was read; later than any time when nothing waits. */
    long oldestReadAtNanos() {
        return isEmpty() ? Long.MAX_VALUE : readAtNanos(oldest());
    }

    private ArrayDeque<Operation> oldest() {
        ArrayDeque<Operation> oldest = null;
        for (ArrayDeque<Operation> queue : queues) {
            boolean isOlder = !queue.isEmpty() && (oldest == null || readAtNanos(queue) < readAtNanos(oldest));
            oldest = isOlder ? queue : oldest;
        }
        return oldest;
    }

    private static long readAtNanos(ArrayDeque<Operation> queue) {
        return queue.peek().delivery().readAtNanos();
    }

    /**
     * Moves operations into a request: all if they fit, otherwise the oldest and what waits for the same shard, at least one.
     *
     * @param most operations that the request may hold
     * @param mostBytes bytes that its body may have, unless a single operation has more
     */
    void moveInto(Bulk bulk, int most, long mostBytes) {
        if (size <= most && bytes <= mostBytes) {
            queues.forEach(queue -> move(queue, bulk, most, mostBytes));
        } else {
            ArrayDeque<Operation> oldest = oldest();
            bulk.setOneOfSeveral();
            bulk.setShard(routing.shardOf(oldest.peek()));
            move(oldest, bulk, most, mostBytes);
        }
    }

    private void move(ArrayDeque<Operation> queue, Bulk bulk, int most, long mostBytes) {
        while (!queue.isEmpty()
                && (bulk.size() == 0
                        || bulk.size() < most && bulk.bodyBytes() + queue.peek().bodyBytes() <= mostBytes)) {
            Operation operation = queue.poll();
            count(operation, -1);
            bulk.add(operation);
        }
    }

    List<Operation> all() {
        List<Operation> all = new ArrayList<>(size);
        queues.forEach(all::addAll);
        return all;
    }

    /** Removes and returns the operations of which this holds. */
    List<Operation> take(Predicate<Operation> condition) {
        List<Operation> taken = new ArrayList<>();
        queues.forEach(queue -> queue.removeIf(operation -> condition.test(operation) && taken.add(operation)));
        taken.forEach(operation -> count(operation, -1));
        return taken;
    }
}
