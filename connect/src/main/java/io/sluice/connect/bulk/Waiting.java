package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.shard.ShardRouting;
import io.sluice.connect.shard.ShardTable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The operations that wait for one index: by the shard that they go to, in the order of their arrival. */
final class Waiting {
    private static final int NONE = -1;

    private ShardTable shards = ShardTable.UNKNOWN;

    /** One for each shard, and the last for operations that no shard is known of. */
    private List<ArrayDeque<Operation>> queues = queues(shards);

    private int size;
    private long bytes;

    private static List<ArrayDeque<Operation>> queues(ShardTable shards) {
        int count = shards.routing().shards();
        List<ArrayDeque<Operation>> queues = new ArrayList<>(count + 1);
        for (int shard = 0; shard <= count; shard++) {
            queues.add(new ArrayDeque<>());
        }
        return queues;
    }

    /** Takes what is known now of the shards; where documents have others than before, what waits is placed anew. */
    void know(ShardTable current) {
        if (shards == current) {
            return;
        }
        boolean isPlacedAnew = !shards.routing().equals(current.routing());
        shards = current;
        if (isPlacedAnew) {
            List<Operation> all = all();
            all.sort(Comparator.comparingLong(operation -> operation.delivery().readAtNanos()));
            queues = queues(current);
            all.forEach(operation -> queues.get(queueOf(operation)).add(operation));
        }
    }

    private int queueOf(Operation operation) {
        int shard = shards.routing().shardOf(operation);
        return shard == ShardRouting.NO_SHARD ? shards.routing().shards() : shard;
    }

    /** The id of the node that the operations of a queue go to, empty where it is not known. */
    private String nodeOf(int queue) {
        return shards.nodeOf(queue == shards.routing().shards() ? ShardRouting.NO_SHARD : queue);
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

    /** The queue with the oldest operation, -1 where nothing waits. */
    private int oldest() {
        int oldest = NONE;
        for (int queue = 0; queue < queues.size(); queue++) {
            boolean isOlder =
                    !queues.get(queue).isEmpty() && (oldest == NONE || readAtNanos(queue) < readAtNanos(oldest));
            oldest = isOlder ? queue : oldest;
        }
        return oldest;
    }

    /** The queues of a node's shards, the one with the oldest operation first; of a thousand each is looked at once. */
    private List<ArrayDeque<Operation>> oldestFirst(String node) {
        return IntStream.range(0, queues.size())
                .filter(queue -> !queues.get(queue).isEmpty() && nodeOf(queue).equals(node))
                .boxed()
                .sorted(Comparator.comparingLong(this::readAtNanos))
                .map(queues::get)
                .collect(Collectors.toList());
    }

    private long readAtNanos(int queue) {
        return queues.get(queue).peek().delivery().readAtNanos();
    }

    /**
     * Moves operations into a request, at least one: all if they fit; otherwise those of the shard that has the oldest, and
     * of the other shards on its node until the request is full, the oldest first.
     *
     * @param most operations that the request may hold
     * @param mostBytes bytes that its body may have, unless a single operation has more
     */
    void moveInto(Bulk bulk, int most, long mostBytes) {
        if (bulk.isProbe()) {
            // What keeps the target from being served may be one shard, whose operations are the oldest.
            moveOneByOne(bulk, most, mostBytes);
        } else if (size == 1 || size <= most && bytes <= mostBytes) {
            queues.forEach(queue -> move(queue, bulk, most, mostBytes));
        } else {
            String node = nodeOf(oldest());
            bulk.setOneOfSeveral();
            bulk.setNode(node);
            for (ArrayDeque<Operation> next : oldestFirst(node)) {
                move(next, bulk, most, mostBytes);
                if (!next.isEmpty()) {
                    return;
                }
            }
        }
    }

    private void moveOneByOne(Bulk bulk, int most, long mostBytes) {
        int before = -1;
        while (!isEmpty() && bulk.size() > before && bulk.size() < most) {
            before = bulk.size();
            move(queues.get(oldest()), bulk, before + 1, mostBytes);
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
