package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.metrics.Fate;
import java.net.ConnectException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.logging.Logger;
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

    /** What one node did not serve goes to another at once; without another one it waits. */
    @Test
    void anotherNodeGetsTheRequestAtOnce() {
        sendThree();
        client.hasLivingNode = true;
        client.fail(0, new ConnectException("Connection refused"));
        timers.advance(0);
        for (int status : new int[] {502, 503, 504}) {
            client.refuse(client.sent.size() - 1, status);
            timers.advance(0);
        }
        assertEquals(5, client.sent.size());
        client.refuse(4, 429);
        timers.advance(99);
        assertEquals(5, client.sent.size(), "429 is about the cluster");
        timers.advance(1_000);
        client.answer(5, item -> 503);
        timers.advance(0);
        assertEquals(6, client.sent.size(), "an item's 503 is about its shard");
        timers.advance(1_000);
        client.hasLivingNode = false;
        client.fail(6, new ConnectException("Connection refused"));
        timers.advance(0);
        assertEquals(7, client.sent.size());
        timers.advance(1_000);
        client.succeed(7);
        assertEquals(3, book.completed.size());
    }

    /** An answer about other documents decides nothing: the request goes again, a counted number of times. */
    @Test
    void mismatchedAnswersDecideNothing() {
        sendThree();
        for (int attempt = 0; attempt < 4; attempt++) {
            assertNull(book.failure);
            client.fail(attempt, new MismatchedAnswerException(2, 3, "_id"));
            timers.advance(1_000);
        }
        assertEquals(0, book.completed.size());
        assertEquals(4L, attribute("BulkAnswersMismatched"));
        assertTrue(book.failure.getMessage().contains("item 2 of 3 of the answer has another _id"));
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
        assertEquals(3, book.completed.size());
    }

    /** What waiting does not cure is tried max.retries times more, then in halves, and then ends the work. */
    @Test
    void internalErrorsAreRepeatedACountedNumberOfTimes() {
        sendThree();
        for (int attempt = 0; attempt < 4; attempt++) {
            assertEquals(List.of("0", "1", "2"), client.offsets(attempt));
            client.refuse(attempt, 500);
            timers.advance(1_000);
        }
        assertEquals(List.of("2"), client.offsets(4));
        assertEquals(List.of("0", "1"), client.offsets(5));
        client.refuse(5, 500);
        assertNull(book.failure);
        assertEquals(List.of("0"), client.offsets(7));
        client.refuse(7, 500);
        assertEquals(
                "bulk request to t: status 500 some_exception: some reason (attempt 1, first record concerned t-0@0)",
                book.failure.getMessage());
    }

    /** A document for which the whole request fails each time is found by halving; the others are stored. */
    @Test
    void aDocumentThatFailsItsRequestIsSuspectedAlone() {
        for (int status : new int[] {500, 429, 503}) {
            WriterWorld world = new WriterWorld();
            BulkWriter writer = world.writer(7, 1 << 20, 2, false);
            world.add(writer, 7);
            for (int second = 0; second < 300 && world.book.suspected.isEmpty(); second++) {
                while (world.client.sent.size() > world.client.answered) {
                    int request = world.client.answered;
                    if (world.client.offsets(request).contains("4")) {
                        world.client.refuse(request, status);
                    } else {
                        world.client.succeed(request);
                    }
                }
                world.add(writer, 1);
                world.timers.advance(1_000);
            }
            assertEquals(List.of("4 " + status + " some_exception"), world.book.suspected);
            assertTrue(world.book.completed.keySet().containsAll(Set.of(0L, 1L, 2L, 3L, 5L, 6L)));
            assertNull(world.book.failure);
        }
    }

    /** A server that closes the connection on each large request gets small ones. */
    @Test
    void aRequestThatNeverFitsIsHalvedWhateverTheServerSays() {
        for (Exception cause : List.of(new java.net.SocketException("reset"), new java.net.SocketTimeoutException())) {
            WriterWorld world = new WriterWorld();
            BulkWriter writer = world.writer(16, 1 << 20, 5, false);
            world.add(writer, 16);
            for (int second = 0; second < 600 && world.book.completed.size() < 16; second++) {
                while (world.client.sent.size() > world.client.answered) {
                    int request = world.client.answered;
                    if (world.client.offsets(request).size() > 3) {
                        world.client.fail(request, cause);
                    } else {
                        world.client.succeed(request);
                    }
                }
                world.timers.advance(1_000);
            }
            assertEquals(16, world.book.completed.size());
            assertNull(world.book.failure);
        }
    }

    /** While no node can be reached no request is halved: it is not the request's fault. */
    @Test
    void anUnreachableClusterHalvesNothing() {
        sendThree();
        for (int attempt = 0; attempt < 40; attempt++) {
            client.fail(attempt, new ConnectException("Connection refused"));
            timers.advance(1_000);
        }
        assertEquals(Set.of(3), Set.copyOf(sizesSent()));
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
        assertEquals(Set.of(0L, 1L, 2L, 3L, 5L, 6L), book.completed.keySet());
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
        assertEquals(List.of(0L, 1L, 2L, 3L), book.revoked);
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
        assertEquals(Set.of(1L, 2L, 3L, 4L), book.completed.keySet());
    }

    /** The last error is told while something that failed is incomplete, and no longer. */
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

    /** Items that all fail are no progress: the request goes again no longer than the time bound allows. */
    @Test
    void itemsThatAllFailEndThePatience() {
        sendThree();
        for (int attempt = 0; book.failure == null; attempt++) {
            client.answer(attempt, item -> 429);
            timers.advance(1_000);
        }
        assertEquals(60_000, timers.nowMs(), 1_000);
    }

    /** A rejected item is told with its reason, its neighbours with what became of them. */
    @Test
    void aRejectedItemHarmsNoNeighbour() {
        sendThree();
        client.answer(0, "201", "400 mapper_parsing_exception", "200");
        assertEquals(Map.of(0L, Fate.INDEXED, 2L, Fate.UPDATED), book.completed);
        assertEquals(List.of("1 400 mapper_parsing_exception"), book.rejected);
    }

    /** An item for which the index is at fault ends the work; what got through before it is completed. */
    @Test
    void anItemThatNoDocumentIsAtFaultForEndsTheWork() {
        sendThree();
        client.answer(0, "201", "404 index_not_found_exception", "429 busy_exception");
        assertEquals(Map.of(0L, Fate.INDEXED), book.completed);
        assertEquals(
                "bulk request to t: status 404 index_not_found_exception: some reason (attempt 1, first record"
                        + " concerned t-0@1)",
                book.failure.getMessage());
    }

    /** An item goes again max.retries times; then it ends the work, and only a reason that quotes no document is told. */
    @Test
    void anItemGoesAgainACountedNumberOfTimes() {
        for (String error :
                new String[] {"500 some_exception: reason withheld", "403 security_exception: some reason"}) {
            book.failure = null;
            int first = client.sent.size();
            add(writer(1, 1 << 20, 5, false), 1);
            for (int attempt = 0; attempt < 4; attempt++) {
                assertNull(book.failure);
                client.answer(first + attempt, item(error));
                timers.advance(1_000);
            }
            assertTrue(
                    book.failure.getMessage().startsWith("bulk request to t: status " + error + " (attempt 4, first"),
                    book.failure.getMessage());
        }
    }

    /** An item that fails while its neighbours are stored is the likely cause itself: only its record is concerned. */
    @Test
    void anItemWhoseNeighboursAreStoredIsSuspected() {
        for (String error :
                new String[] {"500 script_exception", "404 resource_not_found_exception", "403 security_exception"}) {
            book.suspected.clear();
            int first = client.sent.size();
            sendThree();
            client.answer(first, "201", error, "201");
            for (int attempt = 1; attempt < 4; attempt++) {
                timers.advance(1_000);
                client.answer(first + attempt, error);
            }
            assertEquals(1, book.suspected.size());
            assertTrue(book.suspected.get(0).endsWith(error), book.suspected.get(0));
            assertNull(book.failure);
        }
    }

    private static String item(String error) {
        return error.substring(0, error.indexOf(':'));
    }

    /** Credentials that were never accepted end the work at once; those that were may be so again. */
    @Test
    void refusedCredentialsAreTriedAgainIfTheyWereAccepted() {
        BulkWriter writer = writer(1, 1 << 20, 1, false);
        add(writer, 2);
        client.succeed(0);
        client.refuse(1, 401);
        assertNull(book.failure);
        timers.advance(100);
        client.succeed(2);
        assertEquals(Set.of(0L, 1L), book.completed.keySet());
        sendThree();
        client.refuse(3, 401);
        assertTrue(book.failure.getMessage().contains("status 401"), book.failure.getMessage());
    }

    /** That others got through before a document was refused does not say that it is at fault; those after it do. */
    @Test
    void onlyWhoGetsThroughAfterARefusalProvesTheDocumentWrong() {
        BulkWriter writer = writer(1, 1 << 20, 2, false);
        add(writer, 1);
        client.succeed(0);
        timers.advance(1_009);
        add(writer, 2);
        client.refuse(1, 400);
        timers.advance(100);
        client.refuse(3, 400);
        assertEquals(List.of(), book.rejected);
        client.succeed(2);
        timers.advance(200);
        client.refuse(4, 400);
        assertEquals(List.of("1 400 some_exception"), book.rejected);
        assertEquals(Set.of(0L, 2L), book.completed.keySet());
    }

    /** A bug that an answer meets ends the work: swallowed, it would leave the records incomplete for ever. */
    @Test
    void aBugThatAnAnswerMeetsEndsTheWork() {
        sendThree();
        client.answerByNothing(0);
        assertTrue(book.failure.getCause() instanceof NullPointerException);
    }

    /** The last error is that of the first item that goes again, and names who answered. */
    @Test
    void theLastErrorIsThatOfTheFirstItem() {
        sendThree();
        client.sent.get(0).setHost("es-1:9200");
        client.answer(0, "429 first_exception", "503 second_exception", "201");
        assertEquals("status 429 first_exception from es-1:9200", attribute("LastError"));
    }

    /** Failures are warned of at once, then every ten seconds, with how many there were meanwhile. */
    @Test
    void warningsComeEveryTenSeconds() {
        List<String> warnings = new ArrayList<>();
        Logger logger = Logger.getLogger(Failures.class.getName());
        logger.setFilter(record -> !warnings.add(record.getMessage()));
        try {
            sendThree();
            for (int attempt = 0; timers.nowMs() < 25_000; attempt++) {
                client.refuse(attempt, 503);
                timers.advance(1_000);
            }
        } finally {
            logger.setFilter(null);
        }
        assertEquals(
                List.of(
                        "bulk request to t: status 503 some_exception; 3 operations go again in 100 ms (1 such failures"
                                + " since the last warning)",
                        "bulk request to t: status 503 some_exception; 3 operations go again in 1000 ms (10 such failures"
                                + " since the last warning)",
                        "bulk request to t: status 503 some_exception; 3 operations go again in 1000 ms (10 such failures"
                                + " since the last warning)"),
                warnings);
    }
}
