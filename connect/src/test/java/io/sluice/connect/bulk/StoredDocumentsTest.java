package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.sluice.connect.bulk.BulkAnswer.Place;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.stored.StoredDocument;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class StoredDocumentsTest extends WriterWorld {
    private Conflict conflict(String id) {
        return new Conflict(0, operation(id, "{}"), new Place("t-1", id), false);
    }

    private static List<StoredDocument> read(String answer, Conflict... asked) throws IOException {
        return StoredDocuments.read(answer.getBytes(UTF_8), Arrays.asList(asked));
    }

    /** Documents are asked for as the answer names them, with the routing that was sent. */
    @Test
    void documentsAreAskedForAsTheyWereAnswered() {
        encoder = encoder(Map.of("routing", "key"));
        Operation routed = operation("a\"b", "{}");
        assertEquals("a\"b", StoredDocuments.routing(routed.line(0)));
        assertNull(StoredDocuments.routing("{\"index\":{\"_id\":\"routing\"}}".getBytes(UTF_8)));
        Conflict conflict = new Conflict(0, routed, new Place("t-1", "a\"b"), false);
        assertEquals(
                "{\"docs\":[{\"_index\":\"t-1\",\"_id\":\"a\\\"b\",\"routing\":\"a\\\"b\"}]}",
                new String(StoredDocuments.body(List.of(conflict)), UTF_8));
    }

    /** A source is kept as the bytes that came. */
    @Test
    void sourcesAreReadAsTheyStand() throws IOException {
        String answer = "{\"docs\":[{\"_index\":\"t\",\"_id\":\"a\",\"_version\":5,\"_seq_no\":1,\"found\":true,"
                + "\"_source\":{ \"ä\" : [1.50, {\"x\":\"}\"}] },\"more\":{}},"
                + "{\"_index\":\"t\",\"_id\":\"b\",\"found\":false},"
                + "{\"_index\":\"t\",\"_id\":\"c\",\"error\":{\"root_cause\":[{\"type\":\"no\"}],\"type\":\"yes\"}}],"
                + "\"after\":[1]}";
        List<StoredDocument> documents = read(answer, conflict("a"), conflict("b"), conflict("c"));
        StoredDocument first = documents.get(0);
        assertEquals(
                "{ \"ä\" : [1.50, {\"x\":\"}\"}] }",
                new String(first.answer(), first.from(), first.to() - first.from(), UTF_8));
        assertEquals(5, first.version());
        assertEquals(false, documents.get(1).found());
        assertNull(documents.get(1).error());
        assertEquals("yes", documents.get(2).error());
    }

    /** An answer about other documents, or of another number, is none. */
    @Test
    void anAnswerAboutOthersIsNone() {
        String b = "{\"_index\":\"t\",\"_id\":\"b\",\"found\":false}";
        String[] answers = {
            "{\"docs\":[" + b + "]}",
            "{\"docs\":[]}",
            "{\"docs\":[" + b.replace("\"b\"", "\"a\"") + "," + b + "]}",
            "{\"docs\":[{\"found\":false}]}",
            "{\"docs\":[{\"_id\":\"a\",\"found\":tr",
            "{}",
            "[]",
            "",
            "<html>"
        };
        for (String answer : answers) {
            assertThrows(IOException.class, () -> read(answer, conflict("a")), answer);
        }
    }
}
