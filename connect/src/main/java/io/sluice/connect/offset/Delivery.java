package io.sluice.connect.offset;

import io.sluice.connect.metrics.Fate;
import io.sluice.connect.metrics.PartitionLedger;
import org.apache.kafka.connect.sink.SinkRecord;

/** One record on its way through the sink, from being read until it is completed. */
public final class Delivery {
    private final SinkRecord record;
    private final PartitionOffsets partition;
    private final Origin origin;
    private final Stretch stretch;
    private final int place;
    private final long readAtNanos;
    private final long intendedSendTimeMicros;
    private int sourceBytes;
    private String target = "";
    private long heldBytes;
    private Fate fate;

    public Delivery(
            SinkRecord record,
            PartitionOffsets partition,
            Origin origin,
            long readAtNanos,
            long intendedSendTimeMicros) {
        this.record = record;
        this.partition = partition;
        this.origin = origin;
        this.stretch = partition.read(origin.offset());
        this.place = stretch.lastPlace();
        this.readAtNanos = readAtNanos;
        this.intendedSendTimeMicros = intendedSendTimeMicros;
        this.sourceBytes = sizeOf(record.value());
    }

    private static int sizeOf(Object value) {
        if (value instanceof byte[] bytes) {
            return bytes.length;
        }
        return value instanceof String text ? text.length() : 0;
    }

    public SinkRecord record() {
        return record;
    }

    public Origin origin() {
        return origin;
    }

    /** Where the record is counted. */
    public PartitionLedger ledger() {
        return partition.ledger();
    }

    /** The end of the record's partition. */
    public PartitionEnd end() {
        return partition.end();
    }

    /** On the monotonic clock. */
    public long readAtNanos() {
        return readAtNanos;
    }

    /** Microseconds since the epoch, or -1 when the record carries no time at all. */
    public long intendedSendTimeMicros() {
        return intendedSendTimeMicros;
    }

    /** Size of the record's value as it was read; of a struct or map, of the JSON made of it. */
    public long sourceBytes() {
        return sourceBytes;
    }

    /** Notes the bytes of the JSON that was made of a value without bytes of its own: a struct or a map. */
    public void written(int bytes) {
        sourceBytes = sourceBytes == 0 ? bytes : sourceBytes;
    }

    /** Notes where the record goes. */
    public void setTarget(String name) {
        target = name;
    }

    /** Where the record goes, or nothing as long as nobody has said so. */
    public String target() {
        return target;
    }

    /** Notes the heap bytes that the sink holds for the record. */
    public void hold(long bytes) {
        heldBytes = bytes;
    }

    public long heldBytes() {
        return heldBytes;
    }

    /** Notes what becomes of the record, for whoever settles it. */
    public void setFate(Fate outcome) {
        fate = outcome;
    }

    /** What became of the record, or {@code null} as long as nobody has said so. */
    public Fate fate() {
        return fate;
    }

    /** Whether the record belongs to whoever owns its partition now: it must not be sent any more. */
    public boolean isRevoked() {
        return partition.isRevoked();
    }

    /** Lets the partition's committable offset pass this record. */
    public void completed() {
        stretch.complete(place);
    }
}
