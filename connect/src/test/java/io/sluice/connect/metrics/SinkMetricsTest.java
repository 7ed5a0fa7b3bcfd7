package io.sluice.connect.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.DataFormatException;
import javax.management.Attribute;
import javax.management.AttributeNotFoundException;
import javax.management.ObjectName;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class SinkMetricsTest {
    private final SinkMetrics metrics = new SinkMetrics();
    private final PartitionLedger ledger = metrics.ledgerOf("books", 0);

    private static void assertBalanced(Map<String, Object> ledger) {
        long sum = 0;
        for (String fate : new String[] {
            "Indexed",
            "Updated",
            "Deleted",
            "AlreadyThere",
            "Stale",
            "Redirected",
            "DroppedByPipeline",
            "DeadLettered",
            "Dropped",
            "InFlight"
        }) {
            sum += (long) ledger.get("Records" + fate);
        }
        assertEquals(ledger.get("RecordsRead"), sum);
    }

    /** Whatever happens in whatever order, and whenever one looks, the records read are accounted for. */
    @Test
    void theLedgerBalancesAtEverySnapshot() throws InterruptedException {
        AtomicBoolean done = new AtomicBoolean();
        Thread worker = new Thread(() -> {
            Random random = new Random(101);
            long incomplete = 0;
            for (int step = 0; step < 300_007; step++) {
                if (incomplete == 0 || random.nextBoolean()) {
                    metrics.recordRead(ledger);
                    incomplete++;
                } else {
                    Fate fate = Fate.values()[random.nextInt(Fate.values().length)];
                    metrics.recordCompleted(ledger, fate, random.nextInt(1_009), random.nextInt(1_000_000) - 7);
                    incomplete--;
                }
            }
            done.set(true);
        });
        worker.start();
        while (!done.get()) {
            assertBalanced(metrics.snapshot());
        }
        worker.join();
        assertBalanced(metrics.ledger());
    }

    /** A task that stops after its successor has started takes nothing of the successor's away. */
    @Test
    void aTaskThatStopsLateLeavesItsSuccessorsMetrics() throws Exception {
        ObjectName name = new ObjectName("sluice.connect:type=sink-task-metrics,connector=late,task=0");
        SinkTaskMBean late = SinkTaskMBean.register("late", "0", new SinkMetrics());
        try (SinkTaskMBean successor = SinkTaskMBean.register("late", "0", metrics)) {
            metrics.recordRead(ledger);
            late.close();
            Object read = ManagementFactory.getPlatformMBeanServer().getAttribute(name, "RecordsRead");
            assertEquals(successor.getAttribute("RecordsRead"), read);
            assertEquals(1L, read);
        }
        assertFalse(ManagementFactory.getPlatformMBeanServer().isRegistered(name));
    }

    /** A reader that asks attribute by attribute sees one instant. */
    @Test
    void attributesReadOneByOneBalance() throws Exception {
        try (SinkTaskMBean bean = SinkTaskMBean.register("one-by-one", "0", metrics)) {
            for (int round = 0; round < 101; round++) {
                Map<String, Object> seen = new java.util.HashMap<>();
                for (String attribute : metrics.ledger().keySet()) {
                    seen.put(attribute, bean.getAttribute(attribute));
                    metrics.recordRead(ledger);
                    metrics.recordRead(ledger);
                    metrics.recordCompleted(ledger, Fate.INDEXED, 1, 1);
                }
                assertBalanced(seen);
            }
        }
    }

    /** Ages survive the way through base64, to three significant digits. */
    @Test
    void theHistogramIsReadable() throws DataFormatException {
        for (long age : new long[] {0, 997, 10_007, 3_600_000_000L, Long.MAX_VALUE}) {
            metrics.recordRead(ledger);
            metrics.recordCompleted(ledger, Fate.INDEXED, 1, age);
        }
        metrics.recordRead(ledger);
        metrics.recordCompleted(ledger, Fate.DROPPED, 1, -1);
        byte[] encoded = Base64.getDecoder().decode(readThroughJmx("RecordAgeHistogram"));
        Histogram decoded = Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(encoded), 1);
        assertEquals(5, decoded.getTotalCount());
        assertEquals(10_007, decoded.getValueAtPercentile(50), 10);
    }

    /** Documents and bytes of each answered request are counted, and requests by status, unanswered ones included. */
    @Test
    void theSizesOfRequestsAreCounted() throws DataFormatException {
        for (int status : new int[] {429, 0, 429, 503}) {
            metrics.bulkSent(false);
            metrics.bulkFailed(status);
        }
        metrics.bulkSent(false);
        metrics.bulkAnswered(1_999, 5_000_011, 7);
        assertEquals("{\"200\":1,\"429\":2,\"503\":1,\"none\":1}", readThroughJmx("BulkRequestsByStatus"));
        assertEquals(1_999, onlyValueOf("BulkDocumentsHistogram"));
        assertEquals(5_000_011, onlyValueOf("BulkBytesHistogram"), 5_000);
    }

    private long onlyValueOf(String histogram) throws DataFormatException {
        byte[] encoded = Base64.getDecoder().decode(readThroughJmx(histogram));
        Histogram decoded = Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(encoded), 1);
        assertEquals(1, decoded.getTotalCount());
        return decoded.getValueAtPercentile(50);
    }

    private String readThroughJmx(String attribute) {
        try (SinkTaskMBean bean = SinkTaskMBean.register("read-through", "0", metrics)) {
            String one = (String) bean.getAttribute(attribute);
            Attribute among = (Attribute)
                    bean.getAttributes(new String[] {"RecordsRead", attribute}).get(1);
            assertEquals(one, among.getValue());
            return one;
        } catch (AttributeNotFoundException missing) {
            throw new AssertionError(missing);
        }
    }

    /** Looking at numbers, or at what attributes there are, encodes no histogram. */
    @Test
    void histogramsAreEncodedOnlyWhenTheyAreRead() throws Exception {
        try (SinkTaskMBean bean = SinkTaskMBean.register("lazy", "0", metrics)) {
            com.sun.management.ThreadMXBean threads =
                    (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
            bean.getAttribute("RecordsRead");
            bean.getMBeanInfo();
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int round = 0; round < 11; round++) {
                bean.getAttribute("RecordsRead");
                bean.getMBeanInfo();
            }
            long perRound = (threads.getCurrentThreadAllocatedBytes() - before) / 11;
            assertTrue(perRound < 64 << 10, "bytes allocated by one look: " + perRound);
        }
    }

    /** A record revoked counts as if it had not been read. */
    @Test
    void aRevokedRecordIsNotRead() {
        metrics.recordRead(ledger);
        metrics.recordRead(ledger);
        metrics.recordRevoked(ledger);
        assertEquals(1L, metrics.ledger().get("RecordsRead"));
        assertEquals(1L, metrics.ledger().get("RecordsInFlight"));
        assertEquals(1L, metrics.snapshot().get("RecordsRevoked"));
    }

    /** The partitions' ledgers add up to the task's, whatever happens; each balances in itself. */
    @Test
    void theLedgersOfThePartitionsAddUp() throws Exception {
        Random random = new Random(211);
        long[] incomplete = new long[3];
        for (int step = 0; step < 10_007; step++) {
            int partition = random.nextInt(3);
            PartitionLedger of = metrics.ledgerOf("books", partition);
            if (incomplete[partition] == 0 || random.nextBoolean()) {
                metrics.recordRead(of);
                incomplete[partition]++;
            } else if (random.nextInt(11) == 0) {
                metrics.recordRevoked(of);
                incomplete[partition]--;
            } else {
                metrics.recordCompleted(of, Fate.values()[random.nextInt(Fate.values().length)], 1, 1);
                incomplete[partition]--;
            }
        }
        Map<String, Long> sums = new TreeMap<>();
        Matcher partitions =
                Pattern.compile("\"books-(\\d)\":\\{([^}]*)}").matcher(readThroughJmx("LedgerByPartition"));
        while (partitions.find()) {
            Map<String, Long> ledgerOfPartition = new TreeMap<>();
            for (String entry : partitions.group(2).split(",")) {
                String[] nameAndCount = entry.replace("\"", "").split(":");
                ledgerOfPartition.put(nameAndCount[0], Long.parseLong(nameAndCount[1]));
            }
            assertEquals(incomplete[Integer.parseInt(partitions.group(1))], ledgerOfPartition.get("in_flight"));
            ledgerOfPartition.forEach((name, count) -> sums.merge(name, count, Long::sum));
        }
        Map<String, Long> total = new TreeMap<>();
        metrics.ledger().forEach((name, count) -> total.put(inSnakeCase(name), (Long) count));
        assertEquals(total, sums);
        assertEquals(sums.remove("read"), sums.values().stream().reduce(0L, Long::sum));
    }

    private static String inSnakeCase(String attribute) {
        return attribute
                .substring("Records".length())
                .replaceAll("\\B([A-Z])", "_$1")
                .toLowerCase(Locale.ROOT);
    }

    /** The attributes have the names that readers rely on. */
    @Test
    void theAttributesHaveTheirNames() {
        Set<String> names = new TreeSet<>(metrics.snapshot().keySet());
        assertEquals(
                "[BulkAnswersMismatched, BulkBytesHistogram, BulkBytesTotal, BulkDocumentsHistogram, BulkDocumentsTotal, BulkRequests,"
                        + " BulkRequestsByShard, BulkRequestsByStatus, BulkRequestsFailed, BulkRequestsInFlight, BulkRetries,"
                        + " BulkServiceTimeHistogram, BulkServiceTimeMillisTotal, BytesAcknowledged,"
                        + " ItemRetries, ItemsRejected,"
                        + " LastError, LedgerByPartition, NodesLeftOut, OldestUnacknowledgedAgeMillis, ParkedTargets, RecordAgeHistogram,"
                        + " RecordsAlreadyThere, RecordsConflicted, RecordsDeadLettered, RecordsDeleted, RecordsDropped, RecordsDroppedByPipeline,"
                        + " RecordsFiltered, RecordsInFlight, RecordsIndexed, RecordsRead, RecordsRedirected, RecordsRevoked,"
                        + " RecordsSkipped, RecordsStale,"
                        + " RecordsUpdated, StalledForMillis, TimeBlockedMillisTotal]",
                names.toString());
    }
}
