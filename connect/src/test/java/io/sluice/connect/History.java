package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.sluice.connect.bulk.BulkClient;
import io.sluice.connect.bulk.Wire;
import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.time.ManualTimers;
import io.sluice.connect.time.Timers;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
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

    /** A document by its number, or a delete by the number that its key begins with. */
    private static final Pattern RECORD = Pattern.compile("\"n\":(\\d++)(?!,\"n\")|\"delete\":\\{\"_id\":\"(\\d)k");

    private enum Mode {
        KEYED,
        VERSIONED,
        CREATED,
        NAMED_BY_ELASTICSEARCH,
        UPSERTED,
        STREAMED
    }

    /** A record as the producer meant it. */
    private record Meant(String key, ObjectNode document, long version, boolean isBad) {}

    private final long seed;
    private final Random random;
    private final ManualTimers time = new ManualTimers();
    private final PlayedBroker broker = new PlayedBroker();
    private final PlayedElasticsearch cluster;
    private final Map<String, String> settings = new TreeMap<>();
    private final Map<TopicPartition, List<Meant>> meant = new HashMap<>();
    private final List<Member> members = new ArrayList<>();
    private final Set<String> deadLetters = new TreeSet<>();
    private final Map<String, Integer> timesStored = new HashMap<>();
    private final List<String> log = new ArrayList<>();
    private final Mode mode;
    private final boolean keyIgnored;
    private final boolean deletes;
    private final boolean renames;
    private final boolean isAmbiguous;
    private final boolean refuses;
    private final boolean forgetsDeletes;
    private final boolean mayFail;
    private final int slowLetters;
    private final Map<Integer, TopicPartition> partitionOfDocument = new HashMap<>();
    private boolean isHealthy;
    private long busyUntilMs;
    private String offence;
    private int documents;

    History(long seed) {
        this.seed = seed;
        random = new Random(seed * 0x9E3779B97F4A7C15L);
        mode = oneOf(Mode.values());
        cluster = new PlayedElasticsearch(name -> mode == Mode.STREAMED);
        keyIgnored =
                mode == Mode.CREATED || mode == Mode.NAMED_BY_ELASTICSEARCH || mode == Mode.STREAMED && !chance(0.3);
        deletes = !keyIgnored && mode != Mode.STREAMED && chance(0.6);
        renames = chance(0.2);
        refuses = chance(0.6);
        isAmbiguous = refuses && chance(0.6);
        forgetsDeletes = chance(0.3);
        slowLetters = oneOf(1, 100, 3_000);
        choose();
        mayFail = settings.get("behavior.on.malformed.documents").equals("fail");
    }

    /** What is wrong in the end, or {@code null}. */
    String run() {
        createPartitions();
        int count = 1 + random.nextInt(2);
        for (int i = 0; i < count; i++) {
            join();
        }
        assignAll();
        int steps = 20 + random.nextInt(120);
        for (int step = 0; step < steps; step++) {
            produce(random.nextInt(12));
            stepAll();
            if (chance(0.06)) {
                disturb();
            }
            if (refuses && chance(0.02)) {
                busyUntilMs = time.nowMs() + random.nextInt(20_000);
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
        return offence == null ? difference() : offence;
    }

    private void choose() {
        settings.put("name", "history");
        settings.put("topics", "a,b");
        settings.put("connection.url", "http://localhost:9");
        settings.put("validate.connection", "false");
        settings.put("batch.size", Integer.toString(1 + random.nextInt(20)));
        settings.put("bulk.size.bytes", oneOf("-1", "200", "1000", "100000"));
        settings.put("linger.ms", oneOf("0", "1", "50"));
        settings.put("max.in.flight.requests", Integer.toString(1 + random.nextInt(5)));
        settings.put("max.buffered.records", Integer.toString(5 + random.nextInt(100)));
        settings.put("flush.timeout.ms", oneOf("0", "100", "180000"));
        settings.put("retry.backoff.ms", "10");
        settings.put("retry.backoff.max.ms", "500");
        settings.put("retry.timeout.ms", "100000000");
        settings.put("key.ignore", Boolean.toString(keyIgnored));
        settings.put("behavior.on.null.values", deletes ? "delete" : "ignore");
        settings.put("behavior.on.malformed.documents", oneOf("ignore", "warn", "report", "fail"));
        if (chance(0.6)) {
            settings.put("errors.deadletterqueue.topic.name", "letters");
        }
        if (chance(0.6)) {
            settings.put("errors.tolerance", "all");
        }
        if (chance(0.3)) {
            settings.put("errors.log.enable", "true");
        }
        if (chance(0.2)) {
            settings.put("drop.invalid.message", "true");
        }
        if (renames) {
            settings.put("transforms", "rename");
            settings.put("transforms.rename.type", "org.apache.kafka.connect.transforms.RegexRouter");
            settings.put("transforms.rename.regex", "(.*)");
            settings.put("transforms.rename.replacement", "renamed-$1");
        }
        if (mode == Mode.VERSIONED) {
            settings.put("external.version.header", "v");
        } else if (mode == Mode.UPSERTED) {
            settings.put("write.method", "upsert");
        } else if (mode == Mode.NAMED_BY_ELASTICSEARCH) {
            settings.put("use.autogenerated.ids", "true");
        } else if (mode == Mode.STREAMED) {
            settings.put("data.stream.type", "logs");
            settings.put("data.stream.dataset", "d");
        }
    }

    /** Why the settings are refused, or {@code null}. */
    String refusal() {
        return new ElasticsearchSinkConnector()
                .validate(settings).configValues().stream()
                        .flatMap(value -> value.errorMessages().stream())
                        .filter(message -> !message.contains("Missing required"))
                        .findFirst()
                        .orElse(null);
    }

    private void createPartitions() {
        for (String topic : new String[] {"a", "b"}) {
            for (int number = 0; number < 1 + random.nextInt(2); number++) {
                TopicPartition partition = new TopicPartition(topic, number);
                broker.create(partition);
                meant.put(partition, new ArrayList<>());
            }
        }
    }

    private void produce(int records) {
        List<TopicPartition> partitions = sorted(broker.partitions());
        for (int i = 0; i < records; i++) {
            produce(partitions.get(random.nextInt(partitions.size())));
        }
    }

    private void produce(TopicPartition partition) {
        // A key's records all go to one partition.
        String key = partition.partition() + "k" + random.nextInt(6);
        ObjectNode document = PlayedElasticsearch.JSON.createObjectNode();
        document.put("n", documents);
        partitionOfDocument.put(documents, partition);
        document.put("f" + random.nextInt(3), documents++);
        if (mode == Mode.STREAMED) {
            document.put("@timestamp", "2026-01-01T00:00:00Z");
        }
        long offset = broker.end(partition);
        // A version behind that of a delete which is forgotten brings the document back, whatever a sink does.
        // No two versions are equal: of two such operations under way at once either may win.
        boolean isBehind = !forgetsDeletes && chance(0.2);
        long version = mode == Mode.VERSIONED ? 40 + (isBehind ? offset / 2 * 7 + offset % 2 + 1 : offset * 7) : offset;
        boolean isTombstone = chance(deletes ? 0.25 : 0.05);
        boolean mayBeBad = !settings.get("behavior.on.malformed.documents").equals("fail")
                || settings.containsKey("drop.invalid.message") && chance(0);
        boolean isBad = mayBeBad && !isTombstone && chance(0.08);
        String text = document.toString();
        Headers headers = new RecordHeaders();
        if (mode == Mode.VERSIONED) {
            headers.add("v", versionHeader(version));
        }
        if (isBad) {
            switch (random.nextInt(keyIgnored ? 5 : 8)) {
                case 0 -> text = text.replace("{\"n\"", "{\"price\":\"x\",\"n\"");
                case 1 -> text = text.substring(0, text.length() - 1);
                case 2 -> text = text + "//}";
                case 3 -> text = text.replace("{\"n\"", "{\"n\":1,\"n\"");
                case 4 -> text = "[" + text + "]";
                case 5 -> key = null;
                case 6 -> key = "k".repeat(600);
                default -> {
                    if (mode == Mode.VERSIONED) {
                        headers.add("v", "-5".getBytes(UTF_8));
                    } else {
                        text = "";
                    }
                }
            }
        } else if (chance(0.1)) {
            text = text.replace(",", ",\n ");
        }
        broker.append(
                partition,
                key == null ? null : key.getBytes(UTF_8),
                isTombstone ? null : text.getBytes(UTF_8),
                headers,
                1_000 + offset);
        meant.get(partition).add(new Meant(key, isTombstone ? null : document, version, isBad));
    }

    private byte[] versionHeader(long version) {
        return chance(0.5)
                ? Long.toString(version).getBytes(UTF_8)
                : ByteBuffer.allocate(Long.BYTES).putLong(version).array();
    }

    /** One task, with all that dies with its process. */
    private final class Member implements Machine, WatchedTask.Watcher {
        private final List<Timers> threads = new ArrayList<>();
        private final PlayedConsumer consumer = new PlayedConsumer(broker, time, () -> random.nextInt(30));
        private final Set<TopicPartition> owned = new HashSet<>();
        private final SinkTaskWorker worker = new SinkTaskWorker(
                ElasticsearchSinkConnector.class,
                new WatchedTask(new ElasticsearchSinkTask(this), this),
                settings,
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
            boolean isInTime = time.nowMs() - before < longestMs && mode != Mode.NAMED_BY_ELASTICSEARCH;
            boolean isLeft = onTheWire.stream()
                    .anyMatch(exchange -> partitionsOf(exchange).stream().anyMatch(partitions::contains));
            if (isInTime && isLeft && worker.failure() == null && !mayFail && !mayHaveFailed) {
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
            return new Wire(exchange -> serve(this, exchange));
        }

        @Override
        public double random() {
            return random.nextDouble();
        }

        private Future<RecordMetadata> deadLetter(ProcessingContext<ConsumerRecord<byte[], byte[]>> context) {
            ConsumerRecord<byte[], byte[]> record = context.original();
            Letter letter = new Letter(time);
            later(this, random.nextInt(slowLetters), () -> {
                deadLetters.add(record.topic() + "-" + record.partition() + "@" + record.offset());
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

    /** Where the records of a request were read. */
    private Set<TopicPartition> partitionsOf(Wire.Exchange exchange) {
        Set<TopicPartition> partitions = new HashSet<>();
        String topic = exchange.index().substring(exchange.index().length() - 1);
        Matcher number = RECORD.matcher(exchange.body());
        while (number.find()) {
            partitions.add(
                    number.group(1) == null
                            ? new TopicPartition(topic, Integer.parseInt(number.group(2)))
                            : partitionOfDocument.get(Integer.parseInt(number.group(1))));
        }
        return partitions;
    }

    private void serve(Member member, Wire.Exchange exchange) {
        Set<TopicPartition> partitions = partitionsOf(exchange);
        partitions.retainAll(member.closed);
        if (!partitions.isEmpty()) {
            offend("sent after close of " + partitions);
        }
        if (member.hasStopped) {
            offend("sent after stop");
        }
        member.onTheWire.add(exchange);
        if (forgetsDeletes && chance(0.1)) {
            cluster.collectDeletes();
        }
        if (time.nowMs() < busyUntilMs && !isHealthy) {
            answer(member, exchange, random.nextInt(60), () -> exchange.answer(503, ""));
            return;
        }
        int roll = isHealthy || !refuses ? 99 : random.nextInt(isAmbiguous ? 60 : 99);
        long there = random.nextInt(40);
        long back = random.nextInt(40);
        if (roll < 15) {
            answer(
                    member,
                    exchange,
                    there + back,
                    () -> exchange.answer(oneOf(429, 502, 503, 504), "<html>busy</html>"));
        } else if (roll < 20 && exchange.items() > 1) {
            answer(member, exchange, there + back, () -> exchange.answer(413, ""));
        } else if (isAmbiguous && roll < 25) {
            answer(member, exchange, there, () -> exchange.fail(new IOException("connection refused")));
        } else {
            boolean isSelective = roll < 40;
            later(member, there, () -> apply(member, exchange, isSelective, isAmbiguous ? roll : 99, back));
        }
    }

    private void apply(Member member, Wire.Exchange exchange, boolean isSelective, int roll, long back) {
        PlayedElasticsearch.Reply reply =
                cluster.bulk(exchange.index(), exchange.body(), item -> !isSelective || random.nextInt(3) > 0);
        note(exchange, reply);
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

    /** Counts how often each document was stored. */
    private void note(Wire.Exchange exchange, PlayedElasticsearch.Reply reply) {
        if (reply.status() != 200) {
            return;
        }
        try {
            int item = 0;
            String[] lines = exchange.body().split("\n");
            for (JsonNode answer :
                    PlayedElasticsearch.JSON.readTree(reply.body()).get("items")) {
                boolean isDelete = answer.has("delete");
                if (!isDelete && answer.iterator().next().get("status").asInt() < 300) {
                    timesStored.merge(lines[item + 1], 1, Integer::sum);
                }
                item += isDelete ? 1 : 2;
            }
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
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
        Member member = members.get(random.nextInt(members.size()));
        switch (random.nextInt(isAmbiguous ? 6 : 4)) {
            case 0 -> restart(member);
            case 1 -> rebalanceAll();
            case 2 -> moveOne(member);
            case 3 -> {
                if (forgetsDeletes) {
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
            assign(members.get(random.nextInt(members.size())), one);
        }
    }

    private void lose(Member member) {
        log.add("loss at " + time.nowMs());
        List<TopicPartition> lost = List.copyOf(member.owned);
        member.consumer.loseDuringPoll(lost);
        member.worker.step();
        member.owned.clear();
        assign(members.get(random.nextInt(members.size())), lost);
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
                .forEach(partition -> shares.get(random.nextInt(shares.size())).add(partition));
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

    /** What is stored against what must be; both as index, id, document. */
    private String difference() {
        Map<String, Map<String, JsonNode>> stored = cluster.stored();
        if (mode == Mode.NAMED_BY_ELASTICSEARCH) {
            return differenceOfCounts(stored);
        }
        Map<String, Map<String, JsonNode>> expected = expected();
        if (!stored.equals(expected)) {
            return "stored only   " + without(stored, expected) + "\nexpected only " + without(expected, stored);
        }
        return differenceOfLetters();
    }

    private static List<String> without(
            Map<String, Map<String, JsonNode>> some, Map<String, Map<String, JsonNode>> others) {
        List<String> rest = new ArrayList<>();
        some.forEach((index, documents) -> documents.forEach((id, document) -> {
            if (!document.equals(others.getOrDefault(index, Map.of()).get(id))) {
                rest.add(index + "/" + id + " " + document);
            }
        }));
        return rest;
    }

    private String differenceOfCounts(Map<String, Map<String, JsonNode>> stored) {
        Map<JsonNode, Integer> counts = new HashMap<>();
        stored.values().forEach(all -> all.values().forEach(document -> counts.merge(document, 1, Integer::sum)));
        Set<JsonNode> wanted = new HashSet<>();
        meant.values().forEach(all -> all.stream()
                .filter(record -> !record.isBad && record.document != null)
                .forEach(record -> wanted.add(record.document)));
        if (!counts.keySet().equals(wanted)) {
            Set<JsonNode> missing = new HashSet<>(wanted);
            missing.removeAll(counts.keySet());
            counts.keySet().removeAll(wanted);
            return "stored only " + counts.keySet() + "\nexpected only " + missing;
        }
        counts.values().removeIf(count -> count == 1);
        return refuses || !isWaitedFor() || counts.isEmpty() ? differenceOfLetters() : "doubled: " + counts;
    }

    /** The model: what must be stored once every record has been read, whatever happened on the way. */
    private Map<String, Map<String, JsonNode>> expected() {
        Map<String, Map<String, JsonNode>> expected = new TreeMap<>();
        Map<String, Long> versions = new HashMap<>();
        meant.forEach((partition, records) -> {
            for (int offset = 0; offset < records.size(); offset++) {
                Meant record = records.get(offset);
                String origin = partition.topic() + "+" + partition.partition() + "+" + offset;
                String id = keyIgnored || mode == Mode.STREAMED ? origin : record.key;
                boolean isOlder =
                        mode == Mode.VERSIONED && versions.getOrDefault(partition.topic() + id, -1L) >= record.version;
                if (record.isBad || isOlder || record.document == null && !deletes) {
                    continue;
                }
                versions.put(partition.topic() + id, record.version);
                Map<String, JsonNode> index =
                        expected.computeIfAbsent(indexOf(partition.topic()), name -> new TreeMap<>());
                if (record.document == null) {
                    index.remove(id);
                } else if (mode == Mode.UPSERTED && index.containsKey(id)) {
                    index.put(id, ((ObjectNode) index.get(id).deepCopy()).setAll(record.document));
                } else {
                    index.put(id, record.document);
                }
            }
        });
        expected.values().removeIf(Map::isEmpty);
        return expected;
    }

    private String indexOf(String topic) {
        String name = renames ? "renamed-" + topic : topic;
        return mode == Mode.STREAMED ? "logs-d-" + name : name;
    }

    private String differenceOfLetters() {
        Set<String> wanted = new TreeSet<>();
        boolean hasQueue = settings.containsKey("errors.deadletterqueue.topic.name")
                && settings.containsKey("errors.tolerance")
                && !settings.get("behavior.on.malformed.documents").equals("fail");
        boolean isReported = settings.get("behavior.on.malformed.documents").equals("report");
        meant.forEach((partition, records) -> {
            for (int offset = 0; offset < records.size(); offset++) {
                if (records.get(offset).isBad && (hasQueue || isReported)) {
                    wanted.add(partition + "@" + offset);
                }
            }
        });
        if (settings.containsKey("drop.invalid.message")) {
            // What is no document is dropped then, and what the cluster rejects is not.
            return wanted.containsAll(deadLetters) ? differenceOfRepetitions() : "dead letters " + deadLetters;
        }
        if (!deadLetters.equals(wanted)) {
            return "dead letters " + deadLetters + "\nexpected     " + wanted;
        }
        return differenceOfRepetitions();
    }

    /** Whether a task that gives up partitions may wait until all is decided, dead letters included. */
    private boolean isWaitedFor() {
        return settings.get("flush.timeout.ms").equals("180000") && slowLetters < 1_000;
    }

    /** While no request is refused and no answer lost, nothing is sent again, whoever stops or owns a partition. */
    private String differenceOfRepetitions() {
        timesStored.values().removeIf(times -> times == 1);
        return refuses || !isWaitedFor() || timesStored.isEmpty() ? null : "stored again: " + timesStored;
    }

    @Override
    public String toString() {
        return seed + ", " + mode + (refuses ? ", refusals" : "") + (isAmbiguous ? ", losses" : "")
                + (forgetsDeletes ? ", deletes forgotten" : "") + ", " + settings + ", " + log;
    }

    private boolean chance(double probability) {
        return random.nextDouble() < probability;
    }

    @SafeVarargs
    private <T> T oneOf(T... choices) {
        return choices[random.nextInt(choices.length)];
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
