package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.IntStream;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Several nodes over real sockets, of which some are dead, slow or wrong. {@code -Dfailover.seed=N} repeats one history,
 * {@code -Dfailover.seconds=N} goes on for so long, from {@code -Dfailover.first=N} on; {@code -Dfailover.starts=N} starts
 * so many tasks beside a dead node. {@code -Dfailover.threads=N} runs so many at
 * once. With {@code -Dfailover.host=NAME} nodes have a name that stands for several addresses.
 */
class FailoverIT {
    private static final long SEED = Long.getLong("failover.seed", -1);
    private static final long SECONDS = Long.getLong("failover.seconds", 10);
    private static final long FIRST = Long.getLong("failover.first", 0);
    private static final int STARTS = Integer.getInteger("failover.starts", 40);
    private static final int MOST_SHOWN = Integer.getInteger("failover.shown", 5);
    private static final int AT_ONCE = Integer.getInteger("failover.threads", 4);

    private static final long LONGEST_WAIT_NANOS = 30_000_000_000L;
    private static final Logger ALL = Logger.getLogger("");

    @TempDir
    static Path folder;

    private static SelfSigned certificate;
    private Level before;

    @BeforeAll
    static void make() throws Exception {
        certificate = new SelfSigned(folder);
    }

    @BeforeEach
    void keepQuiet() {
        before = ALL.getLevel();
        ALL.setLevel(Level.OFF);
    }

    @AfterEach
    void speakAgain() {
        ALL.setLevel(before);
    }

    /** Beside a node that refuses connections, no task start commits an offset whose record is not stored. */
    @Test
    void aDeadNodeCostsNoRecord() throws Exception {
        List<String> wrong = new ArrayList<>();
        int records = 4_000;
        for (int start = 0; start < STARTS; start++) {
            try (PlayedCluster cluster = new PlayedCluster(2, new Dice(start), 0)) {
                cluster.nodes().get(1).goDown();
                PlayedBroker broker = new PlayedBroker();
                broker.create(TaskHarness.PARTITION);
                for (int i = 0; i < records; i++) {
                    // Each operation is as long as the others: a body that begins again in its middle is well-formed.
                    int others = "{'create':{'_id':'books+0+N'}} {'n':N,'p':''} ".length() - 2;
                    String padding =
                            "x".repeat(256 - others - 2 * Integer.toString(i).length());
                    String document = "{\"n\":" + i + ",\"p\":\"" + padding + "\"}";
                    broker.append(TaskHarness.PARTITION, null, document.getBytes(UTF_8), new RecordHeaders(), 1);
                }
                Map<String, String> settings = Map.of(
                        "key.ignore", "true",
                        "behavior.on.null.values", "ignore",
                        "batch.size", "2000",
                        "max.in.flight.requests", "1");
                try (TaskHarness harness = new TaskHarness(broker, cluster.urls(), settings)) {
                    harness.awaitAllCommitted();
                }
                int stored = cluster.stored("books").size();
                if (stored != records) {
                    wrong.add("start " + start + ": " + stored + " of " + records + " records are stored");
                }
            }
        }
        assertEquals(List.of(), wrong);
    }

    /** A node that takes connections and reads nothing stops an upload that no buffer takes; another gets the request. */
    @Test
    void aNodeThatReadsNothingCostsNoRecord() throws Exception {
        int records = 1_009;
        try (PlayedCluster cluster = new PlayedCluster(2, new Dice(0), 0)) {
            cluster.nodes().get(1).goDeaf();
            Map<String, String> settings = Map.of(
                    "batch.size", Integer.toString(records),
                    "bulk.size.bytes", Integer.toString(20 << 20),
                    "linger.ms", "1009",
                    "read.timeout.ms", "5003",
                    "max.in.flight.requests", "1");
            try (TaskHarness harness = new TaskHarness(cluster.urls(), settings)) {
                for (int round = 0; round < 2; round++) {
                    String document = "{\"p\":\"" + "x".repeat(8 << 10) + "\"}";
                    harness.put(IntStream.range(0, records)
                            .mapToObj(number -> harness.record("k" + number, document))
                            .toList());
                    harness.putUntilCompleted();
                }
                assertEquals(1, harness.attribute("BulkRequestsFailed"));
                assertEquals(1, harness.attribute("BulkRetries"));
                assertEquals(2L * records, harness.committable());
                assertEquals(records, cluster.stored("books").size());
            }
        }
    }

    /** A dead node is named in the log and counted; others get its requests without any backoff, and it is taken back. */
    @Test
    void aDeadNodeIsLeftOutInSight() throws Exception {
        ALL.setLevel(Level.INFO);
        try (CapturedLog log = new CapturedLog();
                PlayedCluster cluster = new PlayedCluster(2, new Dice(0), 0)) {
            PlayedNode dead = cluster.nodes().get(1);
            dead.goDown();
            Map<String, String> settings = Map.of(
                    "batch.size",
                    "7",
                    "retry.backoff.ms",
                    "60000",
                    "retry.backoff.max.ms",
                    "60000",
                    "max.in.flight.requests",
                    "1");
            try (TaskHarness harness = new TaskHarness(cluster.urls(), settings)) {
                harness.put(records(harness, 499));
                harness.putUntilCompleted();
                assertEquals(1, harness.attribute("NodesLeftOut"));
                assertEquals(1, harness.attribute("BulkRetries"));
                assertEquals(
                        1,
                        log.linesWith(
                                        "node " + dead.url().substring("http://".length())
                                                + ": HttpHostConnectException: Connection refused; left out for 1000 ms, 1 of 2 nodes are")
                                .size());
                dead.comeBack();
                long deadline = System.nanoTime() + LONGEST_WAIT_NANOS;
                while (harness.attribute("NodesLeftOut") > 0) {
                    assertTrue(System.nanoTime() < deadline, "it is still left out");
                    cluster.sleep(20);
                    harness.put(records(harness, 1));
                }
                assertEquals(1, log.linesWith("answers again after").size());
            }
        }
    }

    private static List<SinkRecord> records(TaskHarness harness, int count) {
        return IntStream.range(0, count)
                .mapToObj(number -> harness.record("k" + number, "{}"))
                .toList();
    }

    /** Whatever nodes, connections and answers do: what is committed is stored, and in the end all is, once. */
    @Test
    void whatIsCommittedIsStored() throws Exception {
        Tally tally = new Tally();
        AtomicLong seeds = new AtomicLong(SEED >= 0 ? SEED : FIRST);
        long deadline = System.nanoTime() + SECONDS * 1_000_000_000L;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < (SEED >= 0 ? 1 : AT_ONCE); i++) {
            Thread thread = new Thread(() -> {
                do {
                    tally.run(new FailoverHistory(seeds.getAndIncrement(), certificate));
                } while (SEED < 0 && System.nanoTime() < deadline && tally.wrong.size() < MOST_SHOWN);
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(tally);
        assertEquals(List.of(), tally.wrong);
    }

    /** What so many histories came to. */
    private static final class Tally {
        private final Map<PlayedCluster.Misdeed, Integer> done = new ConcurrentSkipListMap<>();
        private final List<String> wrong = Collections.synchronizedList(new ArrayList<>());
        private final LongAdder histories = new LongAdder();
        private final LongAdder failovers = new LongAdder();
        private final LongAdder failedQuestions = new LongAdder();

        void run(FailoverHistory history) {
            List<String> offences;
            try {
                offences = history.run(done);
            } catch (Exception | AssertionError failed) {
                offences = List.of(failed + " at " + failed.getStackTrace()[0] + ", cause " + failed.getCause());
            }
            histories.increment();
            failovers.add(history.failovers());
            failedQuestions.add(history.failedQuestions());
            if (!offences.isEmpty()) {
                wrong.add("\n-Dfailover.seed=" + history + "\n" + offences.size() + " times wrong, at first "
                        + offences.get(0));
            }
        }

        @Override
        public String toString() {
            return String.format(
                    "%,d fail-overs in %,d histories, %,d wrong; %,d questions about conflicts failed; requests: %s",
                    failovers.sum(), histories.sum(), wrong.size(), failedQuestions.sum(), done);
        }
    }
}
