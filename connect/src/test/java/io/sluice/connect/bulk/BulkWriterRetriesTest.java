package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ConnectException;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What goes again after a failure, how often, and when a failure is the last one. */
class BulkWriterRetriesTest extends WriterWorld {
    /** Only the items that failed go again, after the backoff, under the same permit. */
    @Test
    void onlyFailedItemsGoAgain() {
        BulkWriter writer = writer(5, 1 << 20, 1, false);
        add(writer, 10);
        client.answer(0, item -> item == 1 || item == 3 ? 429 : 201);
        timers.advance(99);
        assertEquals(1, client.sent.size());
        timers.advance(1);
        assertEquals(List.of("1", "3"), client.offsets(1));
        client.succeed(1);
        assertEquals(List.of("5", "6", "7", "8", "9"), client.offsets(2));
        assertEquals(2, ((Number) metrics.snapshot().get("ItemRetries")).intValue());
    }

    /** Without an answer the whole request goes again, until nothing has succeeded for the time bound. */
    @Test
    void anUnansweredRequestIsRepeatedWithinTheTimeBound() {
        sendThree();
        int attempt = 0;
        while (book.failure == null) {
            client.fail(attempt++, new ConnectException("Connection refused"));
            timers.advance(1_000);
        }
        assertEquals(60_000, timers.nowMs(), 1_000);
        assertEquals(
                "bulk request to t: no answer: ConnectException: Connection refused (attempt 61, first record"
                        + " concerned t-0@0)",
                book.failure.getMessage());
        assertTrue(book.failure.getCause() instanceof ConnectException);
    }

    /** A 503 for the whole request is survived for as long as a server needs to come back. */
    @Test
    void aServerThatComesBackIsAwaited() {
        sendThree();
        int attempt = 0;
        for (; timers.nowMs() < 45_000; attempt++) {
            client.refuse(attempt, 503);
            timers.advance(1_000);
        }
        client.succeed(attempt);
        assertNull(book.failure);
        assertEquals(3, book.decided.size());
    }

    /** What waiting does not cure is tried max.retries times more, then ends the work. */
    @Test
    void internalErrorsAreRepeatedACountedNumberOfTimes() {
        sendThree();
        for (int attempt = 0; attempt < 4; attempt++) {
            assertNull(book.failure);
            client.refuse(attempt, 500);
            timers.advance(1_000);
        }
        assertEquals(
                "bulk request to t: status 500 some_exception: some reason (attempt 4, first record concerned t-0@0)",
                book.failure.getMessage());
    }

    /** A refusal that would last for ever ends the work at once. */
    @Test
    void aRefusalOfEverythingEndsTheWork() {
        sendThree();
        client.refuse(0, 405);
        assertEquals(
                "bulk request to t: status 405 some_exception: some reason (attempt 1, first record concerned t-0@0)",
                book.failure.getMessage());
    }

    /** A document that spoils the request it is in is found by halving, and rejected alone. */
    @Test
    void aDocumentThatSpoilsItsRequestIsRejectedAlone() {
        BulkWriter writer = writer(7, 1 << 20, 2, false);
        add(writer, 7);
        while (client.sent.size() > client.answered) {
            int request = client.answered;
            if (client.offsets(request).contains("4")) {
                client.refuse(request, 400);
            } else {
                client.succeed(request);
            }
        }
        assertEquals(List.of("4 400 some_exception"), book.rejected);
        assertEquals(Set.of(0L, 1L, 2L, 3L, 5L, 6L), book.decided.keySet());
        assertNull(book.failure);
    }

    /** A request that is refused whatever is in it rejects no document: when none gets through, the task fails. */
    @Test
    void aRefusalThatNoDocumentCausesRejectsNone() {
        BulkWriter writer = writer(3, 1 << 20, 1, false);
        add(writer, 3);
        for (int round = 0; round < 30 && book.failure == null; round++) {
            while (client.sent.size() > client.answered) {
                client.refuse(client.answered, 400);
            }
            timers.advance(1_000);
        }
        assertEquals(List.of(), book.rejected);
        assertEquals(
                "bulk request to t: status 400 some_exception: some reason (attempt 4, first record concerned t-0@0)",
                book.failure.getMessage());
    }

    /** What Elasticsearch says of a document is enough to reject it, though nothing else is sent. */
    @Test
    void aLoneDocumentIsRejectedForWhatItHolds() {
        BulkWriter writer = writer(1, 1 << 20, 1, false);
        add(writer, 1);
        client.refuse(0, 400, "x_content_parse_exception");
        assertEquals(List.of("0 400 x_content_parse_exception"), book.rejected);
    }

    /** No half of a request is sent once its partition was lost. */
    @Test
    void noHalfIsSentAfterItsPartitionWasLost() {
        BulkWriter writer = writer(4, 1 << 20, 2, false);
        add(writer, 4);
        losePartition(writer, 0);
        client.refuse(0, 413);
        timers.advance(60_000);
        assertEquals(1, client.sent.size());
        assertEquals(List.of(0L, 1L, 2L, 3L), book.givenBack);
    }

    /** A flush sends also what has to wait for what it sends. */
    @Test
    void whatWaitsForAFlushedOperationDoesNotLinger() {
        encoder = encoder("upsert");
        BulkWriter writer = writer(100, 1 << 20, 5, true);
        add(writer, operation("a"));
        add(writer, operation("a"));
        writer.flush();
        client.succeed(0);
        assertEquals(List.of("1"), client.offsets(1));
    }

    /** Whatever the client throws is repeated like a lost connection; a client that is closed ends the work. */
    @Test
    void aBugOfTheClientIsRepeatedWhileItRuns() {
        sendThree();
        client.fail(0, new java.nio.channels.CancelledKeyException());
        timers.advance(100);
        assertNull(book.failure);
        client.running = false;
        client.fail(1, new IllegalStateException("I/O reactor status: STOPPED"));
        assertEquals(
                "bulk request to t: no answer: IllegalStateException: I/O reactor status: STOPPED (attempt 2, first"
                        + " record concerned t-0@0)",
                book.failure.getMessage());
    }

    /** A request that is too large goes again in halves; a single document that is too large is rejected. */
    @Test
    void aRequestThatIsTooLargeIsSplit() {
        BulkWriter writer = writer(5, 1 << 20, 1, false);
        add(writer, 5);
        client.refuse(0, 413);
        assertEquals(List.of("0", "1", "2"), client.offsets(1));
        client.refuse(1, 413);
        assertEquals(List.of("0", "1"), client.offsets(2));
        client.refuse(2, 413);
        client.refuse(3, 413);
        assertEquals(List.of("0 413 some_exception"), book.rejected);
        while (client.sent.size() > client.answered) {
            client.succeed(client.answered);
        }
        assertEquals(Set.of(1L, 2L, 3L, 4L), book.decided.keySet());
    }

    /** The last error is told while something that failed is undecided, and no longer. */
    @Test
    void theLastErrorEndsWithTheFailure() {
        BulkWriter writer = writer(3, 1 << 20, 5, false);
        add(writer, 6);
        client.refuse(0, 503);
        client.answer(1, item -> item == 0 ? 429 : 201);
        assertEquals("status 429 some_exception", attribute("LastError"));
        timers.advance(100);
        client.succeed(2);
        assertEquals("status 429 some_exception", attribute("LastError"));
        client.succeed(3);
        assertEquals("", attribute("LastError"));
    }
}
