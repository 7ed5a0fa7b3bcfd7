package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.junit.jupiter.api.Test;

class BulkAnswerTest {
    private static InputStream body(String json) {
        return new ByteArrayInputStream(json.getBytes(UTF_8));
    }

    /** Each item's status is read, whatever else stands beside it. */
    @Test
    void theStatusOfEachItemIsRead() throws IOException {
        BulkAnswer answer = BulkAnswer.read(
                body(
                        "{\"errors\":true,\"items\":[{\"index\":{\"status\":201,\"_shards\":{\"total\":1}}},"
                                + "{\"update\":{\"error\":{\"type\":\"x\",\"reason\":\"y\",\"caused_by\":{}},\"status\":599}}]}"),
                2);
        assertEquals(201, answer.status(0));
        assertEquals(599, answer.status(1));
        assertEquals(new ItemError("x", "y"), answer.error(1));
    }

    /** An answer that is not one status for each item cannot be read. */
    @Test
    void anAnswerWithoutAStatusForEachItemIsUnreadable() {
        String[][] answers = {
            {"{\"items\":[{\"index\":{}}]}", "an item of the answer has no HTTP status"},
            {"{\"items\":[{\"index\":{\"status\":0}}]}", "an item of the answer has no HTTP status"},
            {"{\"items\":[{\"index\":{\"status\":99}}]}", "an item of the answer has no HTTP status"},
            {"{\"items\":[{\"index\":{\"status\":600}}]}", "an item of the answer has no HTTP status"},
            {"{\"items\":[{\"index\":{\"status\":-201}}]}", "an item of the answer has no HTTP status"},
            {"{\"items\":[]}", "the answer holds 0 items, expected 1"},
            {"{\"items\":[null]}", "the answer holds 0 items, expected 1"},
            {"{\"items\":null}", "the answer holds 0 items, expected 1"},
            {"{}", "the answer holds 0 items, expected 1"},
            {"[]", "the answer is no JSON object"},
            {"", "the answer is no JSON object"},
            {
                "{\"items\":[{\"index\":{\"status\":200}},{\"index\":{\"status\":200}}]}",
                "the answer holds 2 items, expected 1"
            },
        };
        for (String[] answer : answers) {
            IOException unreadable =
                    assertThrows(IOException.class, () -> BulkAnswer.read(body(answer[0]), 1), answer[0]);
            assertEquals(answer[1], unreadable.getMessage(), answer[0]);
        }
        assertThrows(
                IOException.class, () -> BulkAnswer.read(body("{\"items\":[{\"index\":{\"status\":\"200\"}}]}"), 1));
    }

    /** However many items stand in an answer that should hold one, it is counted to the end. */
    @Test
    void itemsBeyondTheExpectedAreCounted() {
        String items = "{\"index\":{\"status\":100}}" + ",{\"index\":{\"status\":100}}".repeat(12);
        IOException unreadable =
                assertThrows(IOException.class, () -> BulkAnswer.read(body("{\"items\":[" + items + "]}"), 1));
        assertEquals("the answer holds 13 items, expected 1", unreadable.getMessage());
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
        assertEquals(
                100,
                BulkAnswer.read(body("{\"items\":[{\"index\":{\"status\":100}}]}"), 1)
                        .status(0));
    }
}
