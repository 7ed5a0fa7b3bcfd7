package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.encode.RecordEncoder;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When requests go, and how much they hold. */
class BulkWriterRequestsTest extends WriterWorld {
    /** Requests are cut at the count; what remains goes when the linger time is over. */
    @Test
    void requestsAreCutAtTheCount() {
        BulkWriter writer = writer(7, 1 << 20, 5, false);
        add(writer, 17);
        assertEquals(List.of(7, 7), sizesSent());
        timers.advance(5);
        assertEquals(List.of(7, 7, 3), sizesSent());
    }

    /** Requests are cut before the bytes are exceeded; a document larger than that goes alone. */
    @Test
    void requestsAreCutAtTheBytes() {
        BulkWriter writer = writer(1_000, 1_009, 5, false);
        String large = "{\"a\":\"" + "x".repeat(1_500) + "\"}";
        for (String value : new String[] {"{}", "{}", large, "{}"}) {
            add(writer, value);
        }
        timers.advance(5);
        assertEquals(List.of(2, 1, 1), sizesSent());
    }

    /** Exactly as many requests as allowed are in flight; a finished one makes way for the next. */
    @Test
    void exactlyNRequestsAreInFlight() {
        BulkWriter writer = writer(3, 1 << 20, 5, false);
        add(writer, 24);
        assertEquals(5, client.sent.size());
        client.succeed(0);
        assertEquals(6, client.sent.size());
    }

    /** While a request that is not full is in flight, the next ones wait until they are full. */
    @Test
    void onlyOneRequestThatIsNotFullIsInFlight() {
        BulkWriter writer = writer(7, 1 << 20, 5, false);
        add(writer, 2);
        timers.advance(5);
        add(writer, 3);
        timers.advance(50);
        assertEquals(List.of(2), sizesSent());
        client.succeed(0);
        assertEquals(List.of(2, 3), sizesSent());
    }

    /** A flush sends what is there at once. */
    @Test
    void aFlushDoesNotLinger() {
        BulkWriter writer = writer(7, 1 << 20, 5, false);
        add(writer, 2);
        writer.flush();
        assertEquals(List.of(2), sizesSent());
    }

    /** Requests are spread so that neither documents nor bytes of a second exceed their cap; the first goes at once. */
    @Test
    void requestsKeepToThePace() {
        documentsPerSecond = 100;
        BulkWriter writer = writer(10, 1 << 20, 50, false);
        add(writer, 500);
        assertEquals(1, client.sent.size());
        timers.advance(1_000);
        assertEquals(10, client.sent.size(), 1);
        timers.advance(2_000);
        assertEquals(30, client.sent.size(), 1);
        documentsPerSecond = 0;
        bytesPerSecond = 1_000;
        int before = client.sent.size();
        writer = writer(1, 1 << 20, 50, false);
        for (int i = 0; i < 20; i++) {
            add(writer, operation("k" + i, "{\"a\":\"" + "x".repeat(430) + "\"}"));
        }
        timers.advance(3_000);
        long bytes = client.sent.subList(before + 1, client.sent.size()).stream()
                .filter(bulk -> bulk.size() == 1)
                .mapToLong(Bulk::bodyBytes)
                .sum();
        assertTrue(bytes > 2_000 && bytes <= 3_600, "bytes in 3 s at 1,000/s: " + bytes);
    }

    /** Of 2,000 at a time, 500/s would be one request each four seconds. */
    @Test
    void aRequestHoldsNoMoreThanASecondMayHave() {
        documentsPerSecond = 5;
        BulkWriter writer = writer(2_000, 1 << 20, 5, false);
        add(writer, 12);
        timers.advance(1_010);
        assertEquals(List.of(5, 5), client.sent.stream().map(Bulk::size).toList());
        documentsPerSecond = 0;
        bytesPerSecond = 1_000;
        int before = client.sent.size();
        writer = writer(2_000, 1 << 20, 5, false);
        String document = "{\"a\":\"" + "x".repeat(430) + "\"}";
        writer.add(List.of(operation("a", document), operation("b", document), operation("c", document)));
        timers.advance(100);
        assertEquals(2, client.sent.get(before).size());
    }

    /** A quiet index has its turn as soon as its record is the oldest, however much waits for a busy one. */
    @Test
    void aBusyIndexStarvesNoQuietOne() {
        BulkWriter writer = writer(5, 1 << 20, 1, false);
        encoder = encoder("insert", "busy");
        add(writer, 20);
        encoder = encoder("insert", "quiet");
        add(writer, 1);
        timers.advance(50);
        encoder = encoder("insert", "busy");
        for (int request = 0; request < 7; request++) {
            add(writer, 5);
            client.succeed(request);
        }
        assertEquals(
                List.of("busy", "busy", "busy", "busy", "quiet", "busy", "busy", "busy"),
                client.sent.stream().map(Bulk::index).toList());
    }

    /** Many quiet indices share the permits in the order of their records. */
    @Test
    void quietIndicesDoNotStarveOneAnother() {
        BulkWriter writer = writer(100, 1 << 20, 1, false);
        for (int round = 0; round < 3; round++) {
            for (int index = 0; index < 12; index++) {
                encoder = encoder("insert", "idx" + index);
                add(writer, 1);
            }
        }
        for (int request = 0; request < 12; request++) {
            timers.advance(5);
            client.succeed(request);
        }
        assertEquals(12, client.sent.stream().map(Bulk::index).distinct().count());
    }

    /** What waited for an index is forgotten with its last operation. */
    @Test
    void anIndexWithoutOperationsHasNoLane() {
        Lanes lanes = new Lanes(settings(5, 1 << 20, 1, false).requests(), client::shardsOf, timers, () -> {});
        for (int hour = 0; hour < 1_009; hour++) {
            encoder = encoder("insert", "hour" + hour);
            lanes.add(operation("k"));
            timers.advance(5);
            lanes.disarm();
            Bulk bulk = lanes.next();
            assertEquals(1, lanes.size(), "while a request that is not full is in flight");
            lanes.partialAnswered(bulk.index());
            assertEquals(0, lanes.size());
        }
        lanes.add(operation("k"));
        offsets.close(List.of(new TopicPartition("t", 0)));
        assertEquals(1, lanes.takeRevoked().size());
        assertEquals(0, lanes.size(), "revoked");
        lanes = new Lanes(settings(1, 1 << 20, 1, false).requests(), client::shardsOf, timers, () -> {});
        lanes.add(operation("k"));
        lanes.next();
        assertEquals(0, lanes.size(), "while a full request is in flight");
    }

    /** Operations whose id Elasticsearch makes wait for no other one, upserts beside them or not. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void operationsWithoutAnIdWaitForNone(boolean inOrder) {
        encoder = new RecordEncoder(new SinkConfig(Map.of(
                "connection.url", "http://localhost:9",
                "write.method", "upsert",
                "key.ignore.topics", "t",
                "use.autogenerated.ids", "true")));
        BulkWriter writer = writer(1_000, 1 << 20, 1, inOrder);
        add(writer, 1_000);
        assertEquals(List.of(1_000), sizesSent());
    }

    /** A request holds no more operations than it may, however many waited for its permit. */
    @Test
    void whatHadToWaitIsCutAtTheCount() {
        BulkWriter writer = writer(7, 1 << 20, 1, false);
        add(writer, 17);
        client.succeed(0);
        client.succeed(1);
        timers.advance(5);
        assertEquals(List.of(7, 7, 3), sizesSent());
    }

    /** A request is full at exactly the bytes that it may have; what is left lingers, however much went before. */
    @Test
    void aRequestIsFullAtExactlyItsBytes() {
        int bytes = operation("k0").bodyBytes();
        BulkWriter writer = writer(1_000, 2 * bytes, 1, false);
        add(writer, 1);
        assertEquals(List.of(), sizesSent());
        add(writer, 1);
        assertEquals(List.of(2), sizesSent());
        add(writer, 3);
        client.succeed(0);
        assertEquals(List.of(2, 2), sizesSent());
        client.succeed(1);
        assertEquals(List.of(2, 2), sizesSent());
        timers.advance(5);
        assertEquals(List.of(2, 2, 1), sizesSent());
    }

    /** A request lingers from its first operation on: those that follow make it wait no longer. */
    @Test
    void aRequestLingersFromItsFirstOperation() {
        timers.advance(1_009);
        BulkWriter writer = writer(7, 1 << 20, 5, false);
        add(writer, 1);
        timers.advance(3);
        add(writer, 1);
        timers.advance(1);
        assertEquals(List.of(), sizesSent());
        timers.advance(1);
        assertEquals(List.of(2), sizesSent());
    }

    /** Operations that come after a flush linger again. */
    @Test
    void whatComesAfterAFlushLingers() {
        BulkWriter writer = writer(7, 1 << 20, 5, false);
        writer.flush();
        add(writer, 2);
        assertEquals(List.of(), sizesSent());
        timers.advance(5);
        assertEquals(List.of(2), sizesSent());
    }

    /** While some items of a request that was not full go again, the next one need not be full either. */
    @Test
    void repeatedItemsKeepNoRequestWaiting() {
        BulkWriter writer = writer(7, 1 << 20, 5, false);
        add(writer, 2);
        timers.advance(5);
        client.answer(0, "429 busy_exception", "201");
        add(writer, 1);
        timers.advance(5);
        assertEquals(List.of("2"), client.offsets(1));
        client.succeed(1);
        timers.advance(100);
        client.succeed(2);
        assertEquals(Set.of(0L, 1L, 2L), book.completed.keySet());
        assertNull(book.failure);
    }

    /** The age is that of the oldest operation that is not completed, wherever it waits. */
    @Test
    void theOldestAgeIsThatOfTheOldestIncompleteOperation() {
        timers.advance(7);
        BulkWriter writer = writer(2, 1 << 20, 1, false);
        assertEquals(0, writer.oldestAgeMillis());
        add(writer, 1);
        timers.advance(3);
        assertEquals(3, writer.oldestAgeMillis(), "before it is sent");
        add(writer, 1);
        timers.advance(10);
        assertEquals(13, writer.oldestAgeMillis(), "on the wire");
        client.refuse(0, 413);
        client.succeed(1);
        assertEquals(10, writer.oldestAgeMillis(), "the second half, on the wire");
        client.succeed(2);
        assertEquals(0, writer.oldestAgeMillis());
    }

    /** Attempts, answers and the time between them are counted. */
    @Test
    void requestsAreCounted() {
        sendThree();
        long bytes = client.sent.get(0).bodyBytes();
        client.refuse(0, 503);
        timers.advance(100);
        client.fail(1, new IOException("reset"));
        timers.advance(200);
        timers.advance(31);
        client.answer(2, "201", "400 x_exception", "429 busy_exception");
        assertEquals(2L, attribute("BulkRetries"));
        assertEquals(2L, attribute("BulkRequestsFailed"));
        assertEquals("{\"200\":1,\"503\":1,\"none\":1}", ((Supplier<?>) attribute("BulkRequestsByStatus")).get());
        assertEquals(0L, attribute("BulkRequestsInFlight"));
        assertEquals(31L, attribute("BulkServiceTimeMillisTotal"));
        assertEquals(bytes, attribute("BulkBytesTotal"));
        assertEquals(1L, attribute("ItemsRejected"));
    }
}
