package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.sluice.connect.encode.Operation;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Answers to requests for the index {@code t}. */
class BulkAnswerTest extends WriterWorld {
    private final AnswerChecks checks = new AnswerChecks(false);

    private static byte[] body(String json) {
        return json.getBytes(UTF_8);
    }

    private List<Operation> operations(String... keys) {
        return Arrays.stream(keys).map(this::operation).collect(Collectors.toList());
    }

    private static String items(String... items) {
        return "{\"items\":[" + String.join(",", items) + "]}";
    }

    /** An item that succeeded. */
    private static String item(String action, String index, String id) {
        return "{\"" + action + "\":{\"_index\":\"" + index + "\",\"_id\":\"" + id + "\",\"status\":201}}";
    }

    private BulkAnswer read(List<Operation> operations, String... items) throws IOException {
        return BulkAnswer.read(body(items(items)), "t", operations, checks);
    }

    private String mismatch(List<Operation> operations, String... items) {
        String text = assertThrows(
                        MismatchedAnswerException.class, () -> read(operations, items), String.join(",", items))
                .getMessage();
        return text.replaceFirst(" of the answer has another (\\w+) than was sent.*", " $1");
    }

    /** Each item's status is read, whatever else stands beside it. */
    @Test
    void theStatusOfEachItemIsRead() throws IOException {
        BulkAnswer answer = read(
                List.of(operation("a"), encoded("upsert", "b", "{}")),
                "{\"index\":{\"_index\":\"t\",\"_id\":\"a\",\"result\":\"created\",\"status\":201,\"_shards\":{\"total\":1}}}",
                "{\"update\":{\"error\":{\"type\":\"x\",\"reason\":\"y\",\"caused_by\":{}},\"status\":599,\"_id\":\"b\"}}");
        assertEquals(201, answer.status(0));
        assertEquals(599, answer.status(1));
        assertEquals(new ItemError("x", "y"), answer.error(1));
    }

    /**
     * As OpenSearch 3.8.0 answers where a pipeline drops some documents and fails others: what was stored is in its place,
     * the others are in the order in which the pipeline was done with them.
     */
    @Test
    void itemsInEachOthersPlacesAreToldByTheirIds() throws IOException {
        BulkAnswer answer = read(
                operations("a", "b", "c", "d"),
                unstored("c", "\"result\":\"noop\",\"status\":200"),
                item("index", "t", "b"),
                unstored("d", "\"result\":\"noop\",\"status\":200"),
                unstored("a", "\"status\":500,\"error\":{\"type\":\"x\",\"reason\":\"y\"}"));
        assertEquals(500, answer.status(0));
        assertEquals(new ItemError("x", "y"), answer.error(0));
        assertEquals(ItemResult.STORED, answer.result(1));
        for (int dropped = 2; dropped < 4; dropped++) {
            assertEquals(200, answer.status(dropped));
            assertNull(answer.error(dropped));
            assertEquals(ItemResult.NOOP, answer.result(dropped));
        }
    }

    /** What is about a document that was not sent, or about one of them twice, is no answer. */
    @Test
    void itemsInNobodysPlaceAreAMismatch() {
        String dropped = unstored("b", "\"result\":\"noop\",\"status\":200");
        assertEquals(
                "item 1 of 2 _id",
                mismatch(operations("a", "b"), dropped, unstored("x", "\"status\":500,\"error\":{}")));
        assertEquals("item 1 of 2 _id", mismatch(operations("a", "b"), dropped, dropped));
        assertEquals("item 2 of 2 _id", mismatch(operations("a", "b"), dropped, item("index", "t", "a")));
    }

    /** Without ids of ours nothing tells the dropped document from the failed one; what was stored is certain. */
    @Test
    void whatWasDroppedAndWhatFailedIsInDoubtWithoutIds() throws IOException {
        String dropped = unstored("auto-generated", "\"result\":\"noop\",\"status\":200");
        List<Operation> named = operations("a", "b");
        List<Operation> unnamed = unnamed(3);
        BulkAnswer muddled = read(unnamed, dropped, item("index", "t", "x"), failed(500));
        assertArrayEquals(new boolean[] {true, false, true}, doubts(muddled, unnamed));
        assertArrayEquals(new boolean[3], doubts(read(unnamed, dropped, item("index", "t", "x"), dropped), unnamed));
        assertArrayEquals(new boolean[3], doubts(read(unnamed, dropped, dropped, failed(429)), unnamed));
        assertArrayEquals(new boolean[3], doubts(read(unnamed, dropped, dropped, failed(503)), unnamed));
        String ours = unstored("a", "\"result\":\"noop\",\"status\":200");
        String theirs = unstored("b", "\"status\":500,\"error\":{}");
        assertArrayEquals(new boolean[2], doubts(read(named, ours, theirs), named));
    }

    private List<Operation> unnamed(int count) {
        encoder = encoder(
                Map.of("use.autogenerated.ids", "true", "key.ignore", "true", "behavior.on.null.values", "ignore"));
        return Stream.generate(() -> operation("k")).limit(count).collect(Collectors.toList());
    }

    private static String failed(int status) {
        return "{\"index\":{\"_index\":\"t\",\"_id\":null,\"status\":" + status + ",\"error\":{}}}";
    }

    private static boolean[] doubts(BulkAnswer answer, List<Operation> operations) {
        boolean[] doubts = new boolean[operations.size()];
        for (int item = 0; item < doubts.length; item++) {
            doubts[item] = answer.isDoubtful(item, operations.get(item));
        }
        return doubts;
    }

    private static String unstored(String id, String more) {
        return "{\"index\":{\"_index\":\"t\",\"_id\":\"" + id + "\"," + more + "}}";
    }

    /** What was dropped or redirected is told from what was stored; a redirected document has another id. */
    @Test
    void theResultOfEachItemIsRead() throws IOException {
        BulkAnswer answer = read(
                operations("a", "b", "c"),
                "{\"index\":{\"_index\":\"t\",\"_id\":\"a\",\"result\":\"noop\",\"status\":200}}",
                "{\"index\":{\"_index\":\".fs-t-1\",\"_id\":\"x\",\"result\":\"created\",\"failure_store\":\"used\",\"status\":201}}",
                "{\"index\":{\"_index\":\".ds-t-1\",\"_id\":\"c\",\"result\":\"created\",\"status\":201}}");
        assertEquals(ItemResult.NOOP, answer.result(0));
        assertEquals(ItemResult.REDIRECTED, answer.result(1));
        assertEquals(ItemResult.STORED, answer.result(2));
    }

    private Operation encoded(String writeMethod, String key, String value) {
        encoder = encoder(writeMethod);
        return operation(key, value);
    }

    /** An answer that is not one status for each item cannot be read. */
    @Test
    void anAnswerWithoutAStatusForEachItemIsUnreadable() {
        String named = "\"_index\":\"t\",\"_id\":\"a\"";
        String[][] answers = {
            {items("{\"index\":{" + named + "}}"), "an item of the answer has no HTTP status"},
            {items("{\"index\":{" + named + ",\"status\":0}}"), "an item of the answer has no HTTP status"},
            {items("{\"index\":{" + named + ",\"status\":99}}"), "an item of the answer has no HTTP status"},
            {items("{\"index\":{" + named + ",\"status\":600}}"), "an item of the answer has no HTTP status"},
            {items("{\"index\":{" + named + ",\"status\":-201}}"), "an item of the answer has no HTTP status"},
            {"{\"items\":[]}", "the answer holds 0 items, expected 1"},
            {"{\"items\":[null]}", "the answer holds 0 items, expected 1"},
            {"{\"items\":null}", "the answer holds 0 items, expected 1"},
            {"{}", "the answer holds 0 items, expected 1"},
            {"[]", "the answer is no JSON object"},
            {"", "the answer is no JSON object"},
            {items(item("index", "t", "a"), item("index", "t", "a")), "the answer holds 2 items, expected 1"},
            {items(item("index", "t", "a"), "{\"x\":{}}", "{}"), "the answer holds 3 items, expected 1"},
        };
        List<Operation> one = operations("a");
        for (String[] answer : answers) {
            IOException unreadable = assertThrows(
                    IOException.class, () -> BulkAnswer.read(body(answer[0]), "t", one, checks), answer[0]);
            assertEquals(answer[1], unreadable.getMessage(), answer[0]);
        }
        assertThrows(IOException.class, () -> read(one, "{\"index\":{\"status\":\"200\"}}"));
    }

    /** An item about another document than its operation makes the answer one to another request. */
    @Test
    void itemsAreAboutTheDocumentsThatWereSent() throws IOException {
        List<Operation> two = operations("a", "b");
        String a = item("index", "t", "a");
        String b = item("index", "t", "b");
        assertEquals(201, read(two, a, b).status(1));
        assertEquals("item 1 of 2 _id", mismatch(two, b, a));
        assertEquals("item 2 of 2 _id", mismatch(two, a, item("index", "t", "B")));
        assertEquals("item 2 of 2 _id", mismatch(two, a, item("index", "t", "bb")));
        assertEquals("item 2 of 2 _id", mismatch(two, a, item("index", "t", "")));
        assertEquals("item 2 of 2 _id", mismatch(two, a, "{\"index\":{\"_index\":\"t\",\"status\":201}}"));
        assertEquals("item 2 of 2 _id", mismatch(two, a, "{\"index\":{\"_index\":\"t\",\"_id\":null,\"status\":201}}"));
        assertEquals("item 2 of 2 _index", mismatch(two, a, "{\"index\":{\"_id\":\"b\",\"status\":201}}"));
        assertEquals("item 2 of 2 action", mismatch(two, a, item("delete", "t", "b")));
    }

    /** Ids are compared as text, however they are written in the action line and in the answer. */
    @Test
    void idsAreComparedAsText() throws IOException {
        String[] keys = {"a\"b", "a\\b", "tab\tbell\u0007", "ä€𝄞", "a/b", "\\u0041", "x".repeat(512)};
        String[] answered = {
            "a\\\"b", "a\\\\b", "tab\\tbell\\u0007", "\\u00e4€\\ud834\\udd1e", "a\\/b", "\\\\u0041", "x".repeat(512)
        };
        for (int i = 0; i < keys.length; i++) {
            List<Operation> one = operations(keys[i]);
            assertEquals(201, read(one, item("index", "t", answered[i])).status(0), keys[i]);
            assertEquals("item 1 of 1 _id", mismatch(one, item("index", "t", answered[i] + "x")));
            assertEquals("item 1 of 1 _id", mismatch(one, item("index", "t", "x" + answered[i])));
        }
    }

    /** An alias or a data stream is answered by the index behind it; an index by itself, and then always. */
    @Test
    void thePlaceIsComparedWhereTheTargetIsAnIndex() throws IOException {
        List<Operation> two = operations("a", "b");
        String[] behind = {item("index", "t-000002", "a"), item("index", "t-000002", "b")};
        assertEquals(201, read(two, behind).status(0));
        assertEquals("item 2 of 2 _index", mismatch(two, item("index", "t", "a"), behind[1]));
        assertEquals(
                201, read(two, item("index", "t", "a"), item("index", "t", "b")).status(0));
        assertEquals("item 1 of 2 _index", mismatch(two, behind));
        // It may have become an alias meanwhile: what is sent again is judged anew.
        assertEquals(201, read(two, behind).status(0));
    }

    /** The answer that nearly all are is read without a parser, and to the same end. */
    @Test
    void plainAnswersNeedNoParser() throws IOException {
        List<Operation> three = operations("a", "b", "ä");
        String[] items = {
            plain("index", "t", "a", "created", 201),
            plain("index", "t", "b", "updated", 200),
            plain("index", "t", "ä", "created", 201)
        };
        assertArrayEquals(new int[] {201, 200, 201}, statuses(three, items));
        List<Operation> delete = List.of(operation("a", null));
        assertArrayEquals(new int[] {200}, statuses(delete, plain("delete", "t", "a", "deleted", 200)));
        String[][] others = {
            {items[1], items[0], items[2]},
            {items[0], items[1]},
            {items[0], items[1], items[2], items[2]},
            {items[0], items[1], plain("index", "t", "ä", "noop", 200)},
            {items[0], items[1], plain("index", "t", "ä", "created", 200)},
            {items[0], items[1], plain("index", "other", "ä", "created", 201)},
            {items[0], items[1], plain("create", "t", "ä", "created", 201)},
            {items[0], items[1], plain("index", "t", "\\u00e4", "created", 201)},
            {plain("index", "behind", "a", "created", 201)},
            {},
        };
        for (String[] other : others) {
            List<Operation> sent = other.length == 1 ? three.subList(0, 1) : three;
            assertNull(PlainAnswer.statuses(body(items(other)), "t", sent, checks), String.join(",", other));
        }
        byte[] whole = body(items(items));
        for (int length = 0; length < whole.length; length++) {
            assertNull(PlainAnswer.statuses(Arrays.copyOf(whole, length), "t", three, checks));
        }
        assertNull(PlainAnswer.statuses(body(items(items) + " "), "t", three, checks));
        assertArrayEquals(
                new int[] {201},
                PlainAnswer.statuses(
                        body(items(plain("index", "behind", "a", "created", 201))),
                        "alias",
                        three.subList(0, 1),
                        checks));
    }

    private int[] statuses(List<Operation> operations, String... items) {
        return PlainAnswer.statuses(body(items(items)), "t", operations, checks);
    }

    /** An item that succeeded, as Elasticsearch writes it. */
    private static String plain(String action, String index, String id, String result, int status) {
        return "{\"" + action + "\":{\"_index\":\"" + index + "\",\"_id\":\"" + id + "\",\"result\":\"" + result
                + "\",\"status\":" + status + "}}";
    }

    /** An item that failed may be named by the alias that was asked for. */
    @Test
    void failedItemsMayBeAnywhere() throws IOException {
        String failed = "{\"index\":{\"_index\":\"t\",\"_id\":\"a\",\"status\":400,\"error\":{\"type\":\"x\"}}}";
        assertEquals(
                400,
                read(operations("a", "b"), failed, item("index", "t-000001", "b"))
                        .status(0));
    }

    /** A pipeline may give documents other ids and places, but not those of others in the request. */
    @Test
    void aPipelineMayRename() throws IOException {
        AnswerChecks renaming = new AnswerChecks(true);
        List<Operation> two = operations("a", "b");
        String[] renamed = {item("index", "other", "f00"), item("index", "t", "b")};
        assertEquals(
                201, BulkAnswer.read(body(items(renamed)), "t", two, renaming).status(0));
        String[] swapped = {item("index", "t", "b"), item("index", "t", "f00")};
        assertThrows(MismatchedAnswerException.class, () -> BulkAnswer.read(body(items(swapped)), "t", two, renaming));
        List<Operation> delete = List.of(operation("a", null));
        String elsewhere = items(item("delete", "t", "f00"));
        assertThrows(MismatchedAnswerException.class, () -> BulkAnswer.read(body(elsewhere), "t", delete, renaming));
    }

    /** No message of a mismatch holds an id: keys are content, too. */
    @Test
    void mismatchesQuoteNothing() {
        List<Operation> one = operations("secret-key");
        IOException mismatch = assertThrows(IOException.class, () -> read(one, item("index", "t", "another-secret")));
        assertEquals(
                "item 1 of 1 of the answer has another _id than was sent (if a pipeline changes it, name that in"
                        + " pipeline)",
                mismatch.getMessage());
    }

    /** The error of a refused request is read; what another than Elasticsearch says is unknown. */
    @Test
    void theErrorOfARefusalIsRead() throws IOException {
        assertEquals(
                new ItemError("x_exception", "why"),
                BulkAnswer.readError(
                        body(
                                "{\"error\":{\"root_cause\":[{\"type\":\"y\"}],\"type\":\"x_exception\",\"reason\":\"why\"},\"status\":400}")));
        for (String other : new String[] {
            "{\"error\":\"no\"}", "{\"other\":{\"type\":\"x\"}}", "<html>", "", "{\"error\":{\"type\":"
        }) {
            assertEquals(ItemError.UNKNOWN, BulkAnswer.readError(body(other)), other);
        }
    }
}
