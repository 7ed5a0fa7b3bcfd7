package io.sluice.connect.offset;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.sluice.connect.metrics.SinkMetrics;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.errors.ConnectException;
import org.junit.jupiter.api.Test;

class OffsetsTest {
    private final Offsets offsets = new Offsets(new SinkMetrics());

    /** What was read under another topic's name than the partition's is refused: its offset would be committed undecided. */
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
}
