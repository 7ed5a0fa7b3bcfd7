package io.sluice.connect;

import io.sluice.connect.bulk.BulkWriter;
import io.sluice.connect.config.OnNullValues;
import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.encode.MalformedRecordException;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.encode.RecordEncoder;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.offset.Offsets;
import io.sluice.connect.offset.Origin;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;

/** The first station of every record: counts it, and sends it on its way or decides it at once. */
final class Intake {
    /** Roughly what the objects around a record's bytes take of the heap. */
    private static final long OBJECTS_BYTES = 512;

    private final OnNullValues onNullValues;
    private final boolean dropInvalid;
    private final String ageHeader;
    private final RecordEncoder encoder;
    private final Offsets offsets;
    private final Backlog backlog;
    private final Settlement settlement;
    private final BulkWriter writer;
    private final SinkMetrics metrics;

    Intake(
            SinkConfig config,
            Offsets offsets,
            Backlog backlog,
            Settlement settlement,
            BulkWriter writer,
            SinkMetrics metrics) {
        this.onNullValues = config.writing().onNullValues();
        this.dropInvalid = config.writing().invalidDropped();
        this.ageHeader = config.documents().ageHeader();
        this.encoder = new RecordEncoder(config);
        this.offsets = offsets;
        this.backlog = backlog;
        this.settlement = settlement;
        this.writer = writer;
        this.metrics = metrics;
    }

    void take(SinkRecord record) {
        Delivery delivery = delivery(record);
        metrics.recordRead(delivery.ledger());
        if (record.value() != null || onNullValues == OnNullValues.DELETE) {
            encode(delivery);
            return;
        }
        admit(delivery, 0);
        if (onNullValues == OnNullValues.IGNORE) {
            settlement.dropped(delivery);
        } else {
            settlement.failed(new ConnectException(
                    delivery.origin() + ": got a record without a value; behavior.on.null.values=fail stops the task"));
        }
    }

    /** Counts what the sink holds until the record is decided. */
    private void admit(Delivery delivery, long bytes) {
        delivery.hold(bytes + OBJECTS_BYTES);
        backlog.enter(delivery.heldBytes());
    }

    private void encode(Delivery delivery) {
        Operation operation;
        try {
            operation = encoder.encode(delivery);
        } catch (MalformedRecordException malformed) {
            admit(delivery, delivery.sourceBytes());
            if (dropInvalid) {
                settlement.dropped(delivery);
                return;
            }
            settlement.malformed(delivery, malformed.getMessage(), malformed.getMessage());
            return;
        }
        admit(delivery, operation.heldBytes());
        writer.add(operation);
    }

    private Delivery delivery(SinkRecord record) {
        Origin origin = Origin.of(record);
        return new Delivery(
                record,
                offsets.of(origin.topic(), origin.partition()),
                origin,
                System.nanoTime(),
                intendedSendTimeMicros(record));
    }

    private long intendedSendTimeMicros(SinkRecord record) {
        Header header = record.headers().lastWithName(ageHeader);
        if (header != null && header.value() instanceof byte[] bytes && bytes.length == Long.BYTES) {
            return ByteBuffer.wrap(bytes).getLong();
        }
        if (header != null && header.value() instanceof Long micros) {
            return micros;
        }
        return record.timestamp() == null ? -1 : TimeUnit.MILLISECONDS.toMicros(record.timestamp());
    }
}
