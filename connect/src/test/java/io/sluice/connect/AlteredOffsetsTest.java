package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.errors.ConnectException;
import org.junit.jupiter.api.Test;

/** What the connector says when a user sets or resets its offsets by the worker's REST API. */
class AlteredOffsetsTest {
    private static final Map<String, String> BOOKS = Map.of("topics", "books, offers");

    private static boolean alter(Map<String, String> settings, String topic, Long offset) {
        Map<TopicPartition, Long> offsets = new HashMap<>();
        offsets.put(new TopicPartition(topic, 3), offset);
        return new ElasticsearchSinkConnector().alterOffsets(settings, offsets);
    }

    /** Nothing has to follow the offsets, so the worker says that all is done; a topic of before may be forgotten, too. */
    @Test
    void offsetsMayBeSetAndReset() {
        assertTrue(alter(BOOKS, "offers", 0L));
        assertTrue(alter(BOOKS, "books", null));
        assertTrue(alter(BOOKS, "former", null));
        assertTrue(alter(Map.of("topics.regex", "b.*"), "books", 5L));
        assertTrue(new DiscardSinkConnector().alterOffsets(BOOKS, Map.of()));
    }

    /** An offset that no record can have, or that no task will read, is refused before the group is changed. */
    @Test
    void offsetsThatCannotBeAreRefused() {
        assertEquals(
                "got offset -1 for books-3, expected an offset >= 0",
                assertThrows(ConnectException.class, () -> alter(BOOKS, "books", -1L))
                        .getMessage());
        assertEquals(
                "got offset 5 for boks-3, expected partitions of books, offers",
                assertThrows(ConnectException.class, () -> alter(BOOKS, "boks", 5L))
                        .getMessage());
    }
}
