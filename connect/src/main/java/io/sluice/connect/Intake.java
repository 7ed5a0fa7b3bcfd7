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
import io.sluice.connect.time.Timers;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;

/** The first station of every record: counts it, and sends it on its way or completes it at once. */
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
    private final Timers timers;
    private final SinkMetrics metrics;

    Intake(
            SinkConfig config,
            Offsets offsets,
            Backlog backlog,
            Settlement settlement,
            BulkWriter writer,
            Timers timers,
            SinkMetrics metrics) {
        this.onNullValues = config.writing().onNullValues();
        this.dropInvalid = config.writing().invalidDropped();
        this.ageHeader = config.documents().ageHeader();
        this.encoder = new RecordEncoder(config);
        this.offsets = offsets;
        this.backlog = backlog;
        this.settlement = settlement;
        this.writer = writer;
        this.timers = timers;
        this.metrics = metrics;
    }

    /** Takes the records of one poll: each stage sees all of them at once, since a lock for each would cost more. */
    void take(Collection<SinkRecord> records) {
        long now = timers.nanoTime();
        List<Delivery> deliveries = new ArrayList<>(records.size());
        records.forEach(record -> deliveries.add(delivery(record, now)));
        metrics.inOneStep(() -> deliveries.forEach(delivery -> metrics.recordRead(delivery.ledger())));
        List<Operation> operations = new ArrayList<>(records.size());
        List<Delivery> entering = new ArrayList<>(records.size());
        for (Delivery delivery : deliveries) {
            Operation operation = operationOf(delivery);
            if (operation != null) {
                operations.add(operation);
                delivery.setTarget(operation.index());
                delivery.written(operation.lines() > 1 ? operation.line(1).length : 0);
                delivery.hold(operation.heldBytes() + OBJECTS_BYTES);
                entering.add(delivery);
            }
        }
        backlog.enter(entering);
        writer.add(operations);
    }

    /** Notes what the sink holds of a record that is no document until it is completed. */
    private void enter(Delivery delivery, long bytes) {
        delivery.hold(bytes + OBJECTS_BYTES);
        backlog.enter(List.of(delivery));
    }

    /** The operation for a record, or {@code null} when it was completed at once. */
    private Operation operationOf(Delivery delivery) {
        if (delivery.record().value() == null && onNullValues != OnNullValues.DELETE) {
            withoutValue(delivery);
            return null;
        }
        try {
            return encoder.encode(delivery);
        } catch (MalformedRecordException malformed) {
            malformed(delivery, malformed.getMessage());
            return null;
        }
    }

    private void withoutValue(Delivery delivery) {
        enter(delivery, 0);
        if (onNullValues == OnNullValues.IGNORE) {
            settlement.dropped(delivery);
        } else {
            settlement.failed(new ConnectException(
                    delivery.origin() + ": got a record without a value; behavior.on.null.values=fail stops the task"));
        }
    }

    private void malformed(Delivery delivery, String what) {
        enter(delivery, delivery.sourceBytes());
        if (dropInvalid) {
            settlement.dropped(delivery);
        } else {
            settlement.malformed(delivery, what, what);
        }
    }

    private Delivery delivery(SinkRecord record, long nowNanos) {
        Origin origin = Origin.of(record);
        return new Delivery(
                record,
                offsets.of(origin.topic(), origin.partition()),
                origin,
                nowNanos,
                intendedSendTimeMicros(record));
    }

    private long intendedSendTimeMicros(SinkRecord record) {
        Header header = record.headers().lastWithName(ageHeader);
        if (header != null && header.value() instanceof byte[] bytes && bytes.length == Long.BYTES) {
            return ByteBuffer.wrap(bytes).getLong();
        }
        if (header != null && header.value() instanceof ByteBuffer buffer && buffer.remaining() == Long.BYTES) {
            return buffer.duplicate().getLong();
        }
        if (header != null && header.value() instanceof Long micros) {
            return micros;
        }
        return record.timestamp() == null ? -1 : TimeUnit.MILLISECONDS.toMicros(record.timestamp());
    }
}
