package io.sluice.connect;

import io.sluice.connect.time.Timers;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.function.IntSupplier;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetCommitCallback;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;

/** The consumer of one task: it reads what the broker holds from the committed offset on, and rebalances when told to. */
final class PlayedConsumer extends MockConsumer<byte[], byte[]> {
    private static final long LONGEST_WAIT_MS = 20;

    private final PlayedBroker broker;
    private final Timers timers;
    private final IntSupplier recordsPerPoll;
    private final Map<TopicPartition, Long> positions = new HashMap<>();
    private final Set<TopicPartition> paused = new HashSet<>();
    private final Queue<Runnable> rebalances = new ArrayDeque<>();
    private final Queue<Runnable> callbacks = new ArrayDeque<>();
    private long polls;
    private ConsumerRebalanceListener listener;
    private boolean woken;
    private boolean fenced;

    PlayedConsumer(PlayedBroker broker, Timers timers, IntSupplier recordsPerPoll) {
        super("earliest");
        this.broker = broker;
        this.timers = timers;
        this.recordsPerPoll = recordsPerPoll;
    }

    /** During the next poll these partitions are added. */
    synchronized void assignDuringPoll(Collection<TopicPartition> partitions) {
        rebalances.add(() -> {
            partitions.forEach(partition -> positions.put(partition, broker.committed(partition)));
            listener.onPartitionsAssigned(partitions);
        });
        notifyAll();
    }

    /** During the next poll these partitions are taken away, in good order. */
    synchronized void revokeDuringPoll(Collection<TopicPartition> partitions) {
        rebalances.add(() -> {
            listener.onPartitionsRevoked(partitions);
            remove(partitions);
        });
        notifyAll();
    }

    /** During the next poll it turns out that the group has given them to somebody else. */
    synchronized void loseDuringPoll(Collection<TopicPartition> partitions) {
        rebalances.add(() -> {
            remove(partitions);
            listener.onPartitionsLost(partitions);
        });
        notifyAll();
    }

    private void remove(Collection<TopicPartition> partitions) {
        positions.keySet().removeAll(partitions);
        paused.removeAll(partitions);
    }

    /** From now on the group takes no commit from here: the process is dead, or held to be. */
    synchronized void fence() {
        fenced = true;
    }

    @Override
    public synchronized ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
        polls++;
        runAll(callbacks);
        runAll(rebalances);
        Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> records = new HashMap<>();
        int most = recordsPerPoll.getAsInt();
        for (TopicPartition partition : List.copyOf(positions.keySet())) {
            if (most > 0 && !paused.contains(partition)) {
                List<ConsumerRecord<byte[], byte[]>> next = broker.records(partition, positions.get(partition), most);
                if (!next.isEmpty()) {
                    records.put(partition, next);
                    positions.put(partition, next.get(next.size() - 1).offset() + 1);
                    most -= next.size();
                }
            }
        }
        if (records.isEmpty()) {
            await(timeout);
        }
        if (woken) {
            woken = false;
            throw new WakeupException();
        }
        return new ConsumerRecords<>(records, Map.of());
    }

    private static void runAll(Queue<Runnable> calls) {
        while (!calls.isEmpty()) {
            calls.peek().run();
            calls.remove();
        }
    }

    /** How many polls have begun. */
    synchronized long polls() {
        return polls;
    }

    /** Whether a change of the assignment waits for its poll. */
    synchronized boolean isRebalancing() {
        return !rebalances.isEmpty();
    }

    /** Whether all that the broker holds of its partitions was read. */
    synchronized boolean isAtTheEnd() {
        return positions.entrySet().stream().allMatch(next -> next.getValue() == broker.end(next.getKey()));
    }

    /** How many records of a partition wait, 0 for one that it does not own. */
    synchronized long lag(TopicPartition partition) {
        return positions.containsKey(partition) ? broker.end(partition) - positions.get(partition) : 0;
    }

    private void await(Duration timeout) {
        try {
            if (!woken) {
                timers.pause(this, Math.max(1, Math.min(timeout.toMillis(), LONGEST_WAIT_MS)));
            }
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public synchronized void wakeup() {
        woken = true;
        notifyAll();
    }

    @Override
    public synchronized Set<TopicPartition> assignment() {
        return new HashSet<>(positions.keySet());
    }

    @Override
    public synchronized Set<TopicPartition> paused() {
        return new HashSet<>(paused);
    }

    @Override
    public void subscribe(Collection<String> topics, ConsumerRebalanceListener whoListens) {
        listener = whoListens;
    }

    @Override
    public void subscribe(Pattern topics, ConsumerRebalanceListener whoListens) {
        listener = whoListens;
    }

    @Override
    public synchronized long position(TopicPartition partition) {
        return positions.get(partition);
    }

    @Override
    public synchronized void seek(TopicPartition partition, long offset) {
        positions.put(partition, offset);
    }

    @Override
    public synchronized void pause(Collection<TopicPartition> partitions) {
        requireAssigned(partitions);
        paused.addAll(partitions);
    }

    @Override
    public synchronized void resume(Collection<TopicPartition> partitions) {
        requireAssigned(partitions);
        paused.removeAll(partitions);
    }

    /** As a real one. */
    private void requireAssigned(Collection<TopicPartition> partitions) {
        List<TopicPartition> others = new ArrayList<>(partitions);
        others.removeAll(positions.keySet());
        if (!others.isEmpty()) {
            throw new IllegalStateException("No current assignment for partitions " + others);
        }
    }

    @Override
    public synchronized void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) {
        if (fenced) {
            throw new CommitFailedException();
        }
        offsets.forEach((partition, offset) -> broker.commit(partition, offset.offset()));
    }

    @Override
    public synchronized void commitAsync(
            Map<TopicPartition, OffsetAndMetadata> offsets, OffsetCommitCallback callback) {
        if (fenced) {
            callbacks.add(() -> callback.onComplete(offsets, new CommitFailedException()));
            return;
        }
        commitSync(offsets);
        callbacks.add(() -> callback.onComplete(offsets, null));
    }
}
