package io.sluice.connect.offset;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.metrics.SinkMetrics;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;

class OffsetsTest {
    private final SinkMetrics metrics = new SinkMetrics();
    private final Offsets offsets = new Offsets(metrics);

    /** What was read under another topic's name than the partition's is refused: its offset would be committed incomplete. */
    @Test
    void recordsOfAPartitionThatIsNotOwnedAreRefused() {
        offsets.open(List.of(new TopicPartition("books", 3)));
        ConnectException refusal = assertThrows(ConnectException.class, () -> offsets.of("renamed-books", 3));
        assertEquals(
                "renamed-books-3: got a record of a partition that this task does not own, expected one of [books-3]; a"
                        + " transformation that renames topics needs a worker of Kafka Connect 3.6 or later",
                refusal.getMessage());
    }

    /** A partition that was closed is not owned, though it was asked for last. */
    @Test
    void aClosedPartitionIsNotOwned() {
        TopicPartition partition = new TopicPartition("books", 3);
        offsets.open(List.of(partition));
        offsets.of("books", 3);
        offsets.close(List.of(partition));
        assertThrows(ConnectException.class, () -> offsets.of("books", 3));
        assertEquals(Map.of(), offsets.committable(Map.of(partition, new OffsetAndMetadata(7))));
    }

    /** Where a partition has incomplete records, its first one is committed, else what the worker has handed over. */
    @Test
    void anOffsetIsCommittedUpToTheFirstIncompleteRecord() {
        TopicPartition books = new TopicPartition("books", 0);
        TopicPartition others = new TopicPartition("others", 0);
        TopicPartition second = new TopicPartition("others", 1);
        offsets.open(List.of(books, others, second));
        Delivery first = delivery("books", 0, 41);
        delivery("others", 0, 7);
        delivery("others", 1, 3);
        delivery("books", 0, 43).completed();
        assertEquals(2, offsets.incomplete(List.of(books, others, new TopicPartition("nobody", 0))));
        Map<TopicPartition, OffsetAndMetadata> consumed = Map.of(
                books,
                new OffsetAndMetadata(50),
                others,
                new OffsetAndMetadata(10),
                second,
                new OffsetAndMetadata(5),
                new TopicPartition("nobody", 0),
                new OffsetAndMetadata(9));
        assertEquals(
                Map.of(
                        books, new OffsetAndMetadata(41),
                        others, new OffsetAndMetadata(7),
                        second, new OffsetAndMetadata(3)),
                offsets.committable(consumed));
        first.completed();
        assertEquals(new OffsetAndMetadata(50), offsets.committable(consumed).get(books), "all completed");
    }

    /** What was read before a partition was assigned anew belongs to nobody here, though it was never taken away. */
    @Test
    void aPartitionThatIsAssignedAnewStartsAfresh() {
        offsets.open(List.of(new TopicPartition("books", 0)));
        Delivery before = delivery("books", 0, 41);
        offsets.open(List.of(new TopicPartition("books", 0)));
        Delivery after = delivery("books", 0, 41);
        assertTrue(before.isRevoked());
        assertFalse(after.isRevoked());
        assertEquals(1, offsets.incomplete(List.of(new TopicPartition("books", 0))));
    }

    /** A record's origin is where it was read, whatever a transformation made of its topic; older workers tell only that. */
    @Test
    void theOriginIsWhereARecordWasRead() {
        SinkRecord record = new SinkRecord(
                "renamed", 0, null, null, null, null, 41, null, TimestampType.NO_TIMESTAMP_TYPE, null, "books", 3, 43);
        assertTrue(Origin.workerKeepsOriginals());
        assertEquals("books-3@43", Origin.of(record).toString());
    }

    /** A record counts with the size of its value, as far as that is known, and has no fate before it is given one. */
    @Test
    void aDeliveryKnowsTheSizeOfItsValue() {
        offsets.open(List.of(new TopicPartition("books", 0)));
        Object[] values = {new byte[7], "seven", null, 7};
        long[] sizes = {7, 5, 0, 0};
        for (int i = 0; i < values.length; i++) {
            SinkRecord record = new SinkRecord("books", 0, null, null, null, values[i], i);
            Delivery delivery = new Delivery(record, offsets.of("books", 0), Origin.of(record), 1, 2);
            assertEquals(sizes[i], delivery.sourceBytes());
            assertNull(delivery.fate());
            assertEquals(2, delivery.intendedSendTimeMicros());
            assertSame(metrics.ledgerOf("books", 0), delivery.ledger());
        }
    }

    private Delivery delivery(String topic, int partition, long offset) {
        SinkRecord record = new SinkRecord(topic, partition, null, null, null, null, offset);
        return new Delivery(record, offsets.of(topic, partition), new Origin(topic, partition, offset), 1, -1);
    }
}
