package io.sluice.connect;

import io.sluice.connect.HistorySettings.Mode;
import io.sluice.connect.bulk.BulkClient;
import io.sluice.connect.bulk.Wire;
import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.shard.ShardRouting;
import io.sluice.connect.shard.ShardTable;
import io.sluice.connect.time.ManualTimers;
import io.sluice.connect.time.Timers;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;
import org.apache.kafka.connect.runtime.SinkTaskWorker;
import org.apache.kafka.connect.runtime.errors.ProcessingContext;

/**
 * One history of the sink, made from a seed and the same each time: settings, records, polls, rebalances, restarts, crashes
 * and the answers of a cluster that misbehaves and then recovers. What is stored in the end is compared with what must be.
 */
final class History {
    private static final long COMMIT_INTERVAL_MS = 1_000;
    /** So long a task waits for the wire at least, if it had no reason to wait long for its commit. */
    private static final long SHORTEST_CLOSE_MS = 1_900;

    private static final long LONGEST_RECOVERY_MS = 3_600_000;

    private final long seed;
    private final Dice dice;
    private final HistorySettings settings;
    private final ManualTimers time = new ManualTimers();
    private final PlayedBroker broker = new PlayedBroker();
    private final PlayedElasticsearch cluster;
    private final HistoryModel model;
    private final List<Member> members = new ArrayList<>();
    private final List<String> log = new ArrayList<>();
    private ShardTable shards = ShardTable.UNKNOWN;
    private boolean isHealthy;
    private long busyUntilMs;
    private String offence;

    History(long seed) {
        this.seed = seed;
        dice = new Dice(seed * 0x9E3779B97F4A7C15L);
        settings = new HistorySettings(dice);
        cluster = new PlayedElasticsearch(name -> settings.mode == Mode.STREAMED);
        model = new HistoryModel(settings, dice, broker);
    }

    /** Why the settings are refused, or {@code null}. */
    String refusal() {
        return settings.refusal();
    }

    /** What is wrong in the end, or {@code null}. */
    String run() {
        createPartitions();
        int count = 1 + dice.nextInt(2);
        for (int i = 0; i < count; i++) {
            join();
        }
        assignAll();
        int steps = 20 + dice.nextInt(120);
        for (int step = 0; step < steps; step++) {
            produce(dice.nextInt(12));
            stepAll();
            if (dice.chance(0.06)) {
                disturb();
            }
            if (settings.refuses && dice.chance(0.02)) {
                busyUntilMs = time.nowMs() + dice.nextInt(20_000);
                log.add("busy until " + busyUntilMs);
            }
        }
        isHealthy = true;
        String unfinished = recover();
        if (unfinished != null) {
            return unfinished;
        }
        members.forEach(member -> member.worker.end());
        for (Member member : members) {
            if (member.worker.failure() != null) {
                return "failed at the end: " + member.worker.failure();
            }
        }
        return offence == null ? model.difference(cluster) : offence;
    }

    private void createPartitions() {
        for (String topic : new String[] {"a", "b"}) {
            for (int number = 0; number < 1 + dice.nextInt(2); number++) {
                TopicPartition partition = new TopicPartition(topic, number);
                broker.create(partition);
            }
        }
    }

    private void produce(int records) {
        List<TopicPartition> partitions = sorted(broker.partitions());
        for (int i = 0; i < records; i++) {
            model.produce(partitions.get(dice.nextInt(partitions.size())));
        }
    }

    /** One task, with all that dies with its process. */
    private final class Member implements Environment, WatchedTask.Watcher {
        private final List<Timers> threads = new ArrayList<>();
        private final PlayedConsumer consumer = new PlayedConsumer(broker, time, () -> dice.nextInt(30));
        private final Set<TopicPartition> owned = new HashSet<>();
        private final SinkTaskWorker worker = new SinkTaskWorker(
                ElasticsearchSinkConnector.class,
                new WatchedTask(new ElasticsearchSinkTask(this), this),
                settings.given(),
                consumer,
                this::deadLetter,
                COMMIT_INTERVAL_MS,
                new WorkerTime(time));
        private final Set<TopicPartition> closed = new HashSet<>();
        private final Set<Wire.Exchange> onTheWire = new LinkedHashSet<>();
        private boolean dead;
        private boolean hasStopped;
        /** A task that has failed waits for nothing. */
        private boolean mayHaveFailed;

        @Override
        public void opened(Collection<TopicPartition> partitions) {
            closed.removeAll(partitions);
        }

        /** Nothing of these is sent from now on, and nothing is on the wire when the call is over, unless it took too long. */
        @Override
        public void closes(Collection<TopicPartition> partitions, Runnable call) {
            closed.addAll(partitions);
            long before = time.nowMs();
            call.run();
            long longestMs = Math.min(SHORTEST_CLOSE_MS, Long.parseLong(settings.get("flush.timeout.ms")));
            boolean isInTime = time.nowMs() - before < longestMs && settings.mode != Mode.NAMED_BY_ELASTICSEARCH;
            boolean isLeft = onTheWire.stream()
                    .anyMatch(exchange -> model.partitionsOf(exchange).stream().anyMatch(partitions::contains));
            if (isInTime && isLeft && worker.failure() == null && !settings.mayFail() && !mayHaveFailed) {
                offend("on the wire after close of " + partitions);
            }
        }

        @Override
        public void stopped() {
            hasStopped = true;
        }

        @Override
        public Timers timers(String threadName, Consumer<Throwable> onFailure) {
            Timers thread = time.thread(onFailure);
            threads.add(thread);
            return thread;
        }

        @Override
        public BulkClient client(SinkConfig config) {
            return new Wire(exchange -> serve(this, exchange), History.this::shards);
        }

        @Override
        public double random() {
            return dice.nextDouble();
        }

        private Future<RecordMetadata> deadLetter(ProcessingContext<ConsumerRecord<byte[], byte[]>> context) {
            ConsumerRecord<byte[], byte[]> record = context.original();
            Letter letter = new Letter(time);
            later(this, dice.nextInt(settings.slowLetters), () -> {
                model.deadLettered(record.topic() + "-" + record.partition() + "@" + record.offset());
                letter.complete(null);
            });
            return letter;
        }
    }

    /** A letter on its way to the queue; who waits for it lets time pass. */
    private static final class Letter extends CompletableFuture<RecordMetadata> {
        private final ManualTimers time;

        Letter(ManualTimers time) {
            this.time = time;
        }

        @Override
        public RecordMetadata get() {
            while (!isDone()) {
                time.pause(this, 1);
            }
            return join();
        }
    }

    /** The first thing that went wrong on the way. */
    private void offend(String what) {
        offence = offence == null ? what + " at " + time.nowMs() : offence;
    }

    /** The cluster is asked for its shards now and then, and what it says may be wrong. */
    private ShardTable shards() {
        if (dice.chance(0.02)) {
            int count = dice.nextInt(6);
            List<String> nodes = new ArrayList<>();
            for (int shard = 0; shard < count; shard++) {
                nodes.add(dice.oneOf("", "a", "b", "c"));
            }
            shards = count == 0
                    ? ShardTable.UNKNOWN
                    : new ShardTable(
                            new ShardRouting(count, count * (1 + dice.nextInt(4)), dice.oneOf(1, 1, 2)), nodes);
        }
        return shards;
    }

    private void serve(Member member, Wire.Exchange exchange) {
        Set<TopicPartition> partitions = model.partitionsOf(exchange);
        partitions.retainAll(member.closed);
        if (!partitions.isEmpty()) {
            offend("sent after close of " + partitions);
        }
        if (member.hasStopped) {
            offend("sent after stop");
        }
        member.onTheWire.add(exchange);
        if (settings.forgetsDeletes && dice.chance(0.1)) {
            cluster.collectDeletes();
        }
        if (time.nowMs() < busyUntilMs && !isHealthy) {
            answer(member, exchange, dice.nextInt(60), () -> exchange.answer(503, ""));
            return;
        }
        int roll = isHealthy || !settings.refuses ? 99 : dice.nextInt(settings.isAmbiguous ? 60 : 99);
        long there = dice.nextInt(40);
        long back = dice.nextInt(40);
        if (roll < 15) {
            answer(
                    member,
                    exchange,
                    there + back,
                    () -> exchange.answer(dice.oneOf(429, 502, 503, 504), "<html>busy</html>"));
        } else if (roll < 20 && exchange.items() > 1) {
            answer(member, exchange, there + back, () -> exchange.answer(413, ""));
        } else if (settings.isAmbiguous && roll < 25) {
            answer(member, exchange, there, () -> exchange.fail(new IOException("connection refused")));
        } else {
            boolean isSelective = roll < 40;
            later(member, there, () -> apply(member, exchange, isSelective, settings.isAmbiguous ? roll : 99, back));
        }
    }

    private void apply(Member member, Wire.Exchange exchange, boolean isSelective, int roll, long back) {
        PlayedElasticsearch.Reply reply =
                cluster.bulk(exchange.index(), exchange.body(), item -> !isSelective || dice.nextInt(3) > 0);
        model.stored(exchange, reply);
        answer(member, exchange, back, () -> {
            if (roll >= 40 && roll < 45) {
                exchange.fail(new SocketTimeoutException("no answer in time"));
            } else if (roll >= 45 && roll < 48) {
                member.mayHaveFailed |= reply.status() == 400;
                exchange.answer(
                        reply.status(), reply.body().substring(0, reply.body().length() / 2));
            } else {
                exchange.answer(reply.status(), reply.body());
            }
        });
    }

    private void answer(Member member, Wire.Exchange exchange, long delayMs, Runnable call) {
        later(member, delayMs, () -> {
            member.onTheWire.remove(exchange);
            call.run();
        });
    }

    private void later(Member member, long delayMs, Runnable call) {
        time.after(delayMs, () -> {
            if (!member.dead) {
                call.run();
            }
        });
    }

    private void disturb() {
        Member member = members.get(dice.nextInt(members.size()));
        switch (dice.nextInt(settings.isAmbiguous ? 6 : 4)) {
            case 0 -> restart(member);
            case 1 -> rebalanceAll();
            case 2 -> moveOne(member);
            case 3 -> {
                if (settings.forgetsDeletes) {
                    log.add("deletes forgotten");
                    cluster.collectDeletes();
                }
            }
            case 4 -> crash(member);
            default -> lose(member);
        }
    }

    private Member join() {
        Member member = new Member();
        members.add(member);
        member.worker.begin();
        return member;
    }

    private void restart(Member member) {
        log.add("restart at " + time.nowMs());
        member.worker.end();
        replace(member);
    }

    private void crash(Member member) {
        log.add("crash at " + time.nowMs());
        member.dead = true;
        member.consumer.fence();
        member.threads.forEach(Timers::close);
        replace(member);
    }

    private void replace(Member member) {
        members.remove(member);
        assign(join(), member.owned);
    }

    private void rebalanceAll() {
        log.add("rebalance at " + time.nowMs());
        for (Member member : members) {
            revoke(member, List.copyOf(member.owned));
        }
        assignAll();
    }

    private void moveOne(Member member) {
        if (!member.owned.isEmpty()) {
            log.add("move at " + time.nowMs());
            List<TopicPartition> one = List.of(sorted(member.owned).get(0));
            revoke(member, one);
            assign(members.get(dice.nextInt(members.size())), one);
        }
    }

    private void lose(Member member) {
        log.add("loss at " + time.nowMs());
        List<TopicPartition> lost = List.copyOf(member.owned);
        member.consumer.loseDuringPoll(lost);
        member.worker.step();
        member.owned.clear();
        assign(members.get(dice.nextInt(members.size())), lost);
    }

    private static void revoke(Member member, Collection<TopicPartition> partitions) {
        member.consumer.revokeDuringPoll(partitions);
        member.worker.step();
        member.owned.removeAll(partitions);
    }

    private void assignAll() {
        List<List<TopicPartition>> shares = new ArrayList<>();
        members.forEach(member -> shares.add(new ArrayList<>()));
        sorted(broker.partitions())
                .forEach(partition -> shares.get(dice.nextInt(shares.size())).add(partition));
        for (int i = 0; i < members.size(); i++) {
            assign(members.get(i), shares.get(i));
        }
    }

    private static void assign(Member member, Collection<TopicPartition> partitions) {
        member.consumer.assignDuringPoll(partitions);
        member.owned.addAll(partitions);
    }

    /** A task that fails is started again, as an operator would. */
    private void stepAll() {
        for (Member member : List.copyOf(members)) {
            member.worker.step();
            if (member.worker.failure() != null) {
                log.add("failure: " + root(member.worker.failure()));
                restart(member);
            }
        }
    }

    private static String root(Throwable failure) {
        Throwable cause = failure;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause.toString();
    }

    private String recover() {
        long until = time.nowMs() + LONGEST_RECOVERY_MS;
        while (!broker.isAllCommitted()) {
            for (Member member : members) {
                member.worker.step();
                if (member.worker.failure() != null) {
                    return "failed though the cluster is well: " + root(member.worker.failure());
                }
            }
            if (time.nowMs() > until) {
                return "not finished an hour after the cluster recovered";
            }
        }
        return null;
    }

    @Override
    public String toString() {
        return seed + ", " + settings + ", " + log;
    }

    private static List<TopicPartition> sorted(Collection<TopicPartition> partitions) {
        return partitions.stream()
                .sorted(java.util.Comparator.comparing(TopicPartition::toString))
                .toList();
    }

    /** The worker's clock. */
    record WorkerTime(ManualTimers time) implements Time {
        @Override
        public long milliseconds() {
            return time.nowMs();
        }

        @Override
        public long nanoseconds() {
            return time.nanoTime();
        }

        @Override
        public long hiResClockMs() {
            return time.nowMs();
        }

        @Override
        public void sleep(long ms) {
            time.advance(ms);
        }

        @Override
        public void waitObject(Object monitor, java.util.function.Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Timer timer(long timeoutMs) {
            return Time.SYSTEM.timer(timeoutMs);
        }
    }
}
