package io.sluice.connect.metrics;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;

/** Everything one task counts since its start; each method is one consistent step, so that the ledger balances. */
public final class SinkMetrics {
    private static final int SIGNIFICANT_DIGITS = 3;
    private static final long LONGEST_MICROS = 24L * 3600 * 1_000_000;
    private static final long MOST_DOCUMENTS = 1_000_000;
    private static final long MOST_BYTES = 1L << 31;
    private static final String ANSWERED = "200";
    private static final String UNANSWERED = "none";

    private final long[] recordsByFate = new long[Fate.values().length];
    private final Map<String, PartitionLedger> ledgers = new TreeMap<>();
    private final Histogram recordAge = histogram(LONGEST_MICROS);
    private final Histogram bulkServiceTime = histogram(LONGEST_MICROS);
    private final Histogram documentsPerBulk = histogram(MOST_DOCUMENTS);
    private final Histogram bytesPerBulk = histogram(MOST_BYTES);
    private final Map<String, Long> bulkRequestsByStatus = new TreeMap<>();
    private LongSupplier oldestIncompleteAgeMillis = () -> 0;
    private IntSupplier nodesLeftOut = () -> 0;
    private LongSupplier recordsSkipped = () -> 0;
    private LongSupplier recordsFiltered = () -> 0;
    private long recordsRead;
    private long recordsInFlight;
    private long recordsRevoked;
    private long stalledForMillis;
    private String lastError = "";
    private final Set<String> parkedTargets = new TreeSet<>();
    private long bytesAcknowledged;
    private long bulkRequests;
    private long bulkRequestsFailed;
    private long bulkRetries;
    private long bulkRequestsByShard;
    private long itemRetries;
    private long itemsRejected;
    private long answersMismatched;
    private long recordsConflicted;
    private long bulkRequestsInFlight;
    private long bulkServiceTimeNanos;
    private long bulkDocuments;
    private long bulkBytes;
    private long timeBlockedNanos;

    private static Histogram histogram(long highest) {
        Histogram histogram = new Histogram(1, highest, SIGNIFICANT_DIGITS);
        histogram.setAutoResize(false);
        return histogram;
    }

    /** Where {@code OldestUnacknowledgedAgeMillis} comes from; asked without this object's lock. */
    public synchronized void setOldestIncompleteAgeMillis(LongSupplier ageMillis) {
        oldestIncompleteAgeMillis = ageMillis;
    }

    /** Where {@code NodesLeftOut} comes from; asked without this object's lock. */
    public synchronized void setNodesLeftOut(IntSupplier nodes) {
        nodesLeftOut = nodes;
    }

    /** Where {@code RecordsSkipped} and {@code RecordsFiltered} come from; asked without this object's lock. */
    public synchronized void setRecordsUndelivered(LongSupplier skipped, LongSupplier filtered) {
        recordsSkipped = skipped;
        recordsFiltered = filtered;
    }

    /** The ledger of one partition, the same for as long as the task runs. */
    public synchronized PartitionLedger ledgerOf(String topic, int partition) {
        return ledgers.computeIfAbsent(topic + "-" + partition, name -> new PartitionLedger());
    }

    /** Counts many records in one step, which costs less than as many steps. */
    public synchronized void inOneStep(Runnable counts) {
        counts.run();
    }

    public synchronized void recordRead(PartitionLedger ledger) {
        ledger.read(1);
        recordsRead++;
        recordsInFlight++;
    }

    /**
     * A record is completed.
     *
     * @param ageMicros from its intended send time to now, or negative when it is not to be counted
     */
    public synchronized void recordCompleted(PartitionLedger ledger, Fate fate, long sourceBytes, long ageMicros) {
        ledger.completed(fate);
        recordsByFate[fate.ordinal()]++;
        recordsInFlight--;
        if (fate != Fate.DEAD_LETTERED && fate != Fate.DROPPED) {
            bytesAcknowledged += sourceBytes;
        }
        if (ageMicros >= 0) {
            recordAge.recordValue(Math.min(ageMicros, LONGEST_MICROS));
        }
    }

    /** Records were read and let go at once: one step for any number of them, so that counting costs nothing. */
    public synchronized void recordsDropped(PartitionLedger ledger, long records) {
        ledger.dropped(records);
        recordsRead += records;
        recordsByFate[Fate.DROPPED.ordinal()] += records;
    }

    /** A record was let go incomplete, to be read again by whoever owns its partition: it no longer counts as read. */
    public synchronized void recordRevoked(PartitionLedger ledger) {
        ledger.read(-1);
        recordsRead--;
        recordsInFlight--;
        recordsRevoked++;
    }

    public synchronized long recordsCompleted() {
        return recordsRead - recordsInFlight;
    }

    public synchronized long recordsRead() {
        return recordsRead;
    }

    public synchronized long recordsInFlight() {
        return recordsInFlight;
    }

    /** @param millis since the last record was completed, 0 while records are or when there are none */
    public synchronized void stalledFor(long millis) {
        stalledForMillis = millis;
    }

    /** A request or an item failed; {@code what} quotes no document. */
    public synchronized void failed(String what) {
        lastError = what;
    }

    /** Everything that had failed is completed. */
    public synchronized void recovered() {
        lastError = "";
    }

    /** The last failure of what is still failing, or nothing. */
    public synchronized String lastError() {
        return lastError;
    }

    /** A target cannot be served, so that its records wait. */
    public synchronized void parked(String target) {
        parkedTargets.add(target);
    }

    /** A target that was parked is served again. */
    public synchronized void served(String target) {
        parkedTargets.remove(target);
    }

    public synchronized void bulkSent(boolean again) {
        bulkRequestsInFlight++;
        if (again) {
            bulkRetries++;
        }
    }

    /** A bulk request was sent that was formed by shard. */
    public synchronized void bulkByShardSent() {
        bulkRequestsByShard++;
    }

    /** A bulk request was answered with 2xx, whatever became of its items. */
    public synchronized void bulkAnswered(int documents, long bytes, long serviceTimeNanos) {
        bulkRequestsInFlight--;
        bulkRequests++;
        bulkDocuments += documents;
        bulkBytes += bytes;
        bulkServiceTimeNanos += serviceTimeNanos;
        bulkServiceTime.recordValue(Math.min(serviceTimeNanos / 1_000, LONGEST_MICROS));
        documentsPerBulk.recordValue(Math.min(documents, MOST_DOCUMENTS));
        bytesPerBulk.recordValue(Math.min(bytes, MOST_BYTES));
        bulkRequestsByStatus.merge(ANSWERED, 1L, Long::sum);
    }

    /** A bulk request was refused as a whole with this status, or no answer came: 0. */
    public synchronized void bulkFailed(int status) {
        bulkRequestsInFlight--;
        bulkRequestsFailed++;
        bulkRequestsByStatus.merge(status == 0 ? UNANSWERED : Integer.toString(status), 1L, Long::sum);
    }

    /** An item will never be accepted. */
    public synchronized void itemRejected() {
        itemsRejected++;
    }

    /** An answer was not about the documents of its request, which is sent again. */
    public synchronized void answerMismatched() {
        answersMismatched++;
    }

    /** A record was rejected because its document's id is taken by another record's. */
    public synchronized void recordConflicted() {
        recordsConflicted++;
    }

    public synchronized void itemsToSendAgain(int items) {
        itemRetries += items;
    }

    public synchronized void blocked(long nanos) {
        timeBlockedNanos += nanos;
    }

    /**
     * All attributes by name, as of one instant.
     *
     * <p>What costs more than a number is a {@code Supplier<String>}, to be asked when that attribute is read.
     */
    public Map<String, Object> snapshot() {
        long oldestAgeMillis = oldestAge().getAsLong();
        long leftOut = nodesLeftOut().getAsInt();
        long skipped = recordsSkipped().getAsLong();
        long filtered = recordsFiltered().getAsLong();
        synchronized (this) {
            Map<String, Object> attributes = new LinkedHashMap<>(ledger());
            attributes.put("RecordsRevoked", recordsRevoked);
            attributes.put("RecordsSkipped", skipped);
            attributes.put("RecordsFiltered", filtered);
            attributes.put("StalledForMillis", stalledForMillis);
            attributes.put("LastError", lastError);
            attributes.put("ParkedTargets", String.join(",", parkedTargets));
            attributes.put("LedgerByPartition", (Supplier<String>) this::ledgerByPartition);
            attributes.put("BytesAcknowledged", bytesAcknowledged);
            attributes.put("BulkRequests", bulkRequests);
            attributes.put("BulkRequestsFailed", bulkRequestsFailed);
            attributes.put("BulkRequestsByStatus", (Supplier<String>) this::bulkRequestsByStatus);
            attributes.put("BulkRequestsByShard", bulkRequestsByShard);
            attributes.put("BulkRetries", bulkRetries);
            attributes.put("ItemRetries", itemRetries);
            attributes.put("ItemsRejected", itemsRejected);
            attributes.put("RecordsConflicted", recordsConflicted);
            attributes.put("BulkAnswersMismatched", answersMismatched);
            attributes.put("NodesLeftOut", leftOut);
            attributes.put("BulkRequestsInFlight", bulkRequestsInFlight);
            attributes.put("BulkServiceTimeMillisTotal", bulkServiceTimeNanos / 1_000_000);
            attributes.put("BulkDocumentsTotal", bulkDocuments);
            attributes.put("BulkBytesTotal", bulkBytes);
            attributes.put("TimeBlockedMillisTotal", timeBlockedNanos / 1_000_000);
            attributes.put("OldestUnacknowledgedAgeMillis", oldestAgeMillis);
            attributes.put("RecordAgeHistogram", encodedWhenRead(recordAge));
            attributes.put("BulkServiceTimeHistogram", encodedWhenRead(bulkServiceTime));
            attributes.put("BulkDocumentsHistogram", encodedWhenRead(documentsPerBulk));
            attributes.put("BulkBytesHistogram", encodedWhenRead(bytesPerBulk));
            return attributes;
        }
    }

    private synchronized LongSupplier oldestAge() {
        return oldestIncompleteAgeMillis;
    }

    private synchronized IntSupplier nodesLeftOut() {
        return nodesLeftOut;
    }

    private synchronized LongSupplier recordsSkipped() {
        return recordsSkipped;
    }

    private synchronized LongSupplier recordsFiltered() {
        return recordsFiltered;
    }

    /** RecordsRead and what it is the sum of. */
    public synchronized Map<String, Object> ledger() {
        Map<String, Object> ledger = new LinkedHashMap<>();
        ledger.put("RecordsRead", recordsRead);
        ledger.put("RecordsIndexed", records(Fate.INDEXED));
        ledger.put("RecordsUpdated", records(Fate.UPDATED));
        ledger.put("RecordsDeleted", records(Fate.DELETED));
        ledger.put("RecordsAlreadyThere", records(Fate.ALREADY_THERE));
        ledger.put("RecordsStale", records(Fate.STALE));
        ledger.put("RecordsRedirected", records(Fate.REDIRECTED));
        ledger.put("RecordsDroppedByPipeline", records(Fate.DROPPED_BY_PIPELINE));
        ledger.put("RecordsDeadLettered", records(Fate.DEAD_LETTERED));
        ledger.put("RecordsDropped", records(Fate.DROPPED));
        ledger.put("RecordsInFlight", recordsInFlight);
        return ledger;
    }

    /** The same by partition, as JSON: {@code {"topic-partition": {"read": R, …, "in_flight": F}}}. */
    public synchronized String ledgerByPartition() {
        StringBuilder json = new StringBuilder("{");
        ledgers.forEach((partition, ledger) -> {
            json.append(json.length() == 1 ? "\"" : ",\"").append(partition).append("\":");
            ledger.appendJson(json);
        });
        return json.append('}').toString();
    }

    private synchronized String bulkRequestsByStatus() {
        return bulkRequestsByStatus.entrySet().stream()
                .map(entry -> '"' + entry.getKey() + "\":" + entry.getValue())
                .collect(Collectors.joining(",", "{", "}"));
    }

    private long records(Fate fate) {
        return recordsByFate[fate.ordinal()];
    }

    private Supplier<String> encodedWhenRead(Histogram histogram) {
        return () -> {
            synchronized (this) {
                return base64(histogram);
            }
        };
    }

    private static String base64(Histogram histogram) {
        ByteBuffer encoded = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoCompressedByteBuffer(encoded);
        return Base64.getEncoder().encodeToString(Arrays.copyOf(encoded.array(), length));
    }
}
