package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.connect.bulk.BulkAnswer.Place;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.stored.IndexTraits;
import io.sluice.connect.stored.StoredDocument;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Verdicts on operations that were sent with the document {@code {"n":1}}. */
class ConflictRulesTest extends WriterWorld {
    private static final ConflictRules RULES = new ConflictRules(true, "");
    private static final IndexTraits PLAIN = new IndexTraits("", false);
    private static final IndexTraits WITH_PIPELINE = new IndexTraits("a pipeline", false);
    private static final IndexTraits SYNTHETIC = new IndexTraits("synthetic", true);

    private static StoredDocument stored(long version, String source) {
        byte[] answer = ("#" + source + "#").getBytes(UTF_8);
        return new StoredDocument(true, version, answer, 1, answer.length - 1, null);
    }

    private static StoredDocument missing() {
        return new StoredDocument(false, -1, new byte[0], 0, 0, null);
    }

    private Operation create() {
        encoder = encoder(Map.of("key.ignore", "true"));
        return operation("k", "{\"n\":1}");
    }

    /** One of offset, and so of version, 7. */
    private Operation keyed(String value) {
        for (int offset = 0; offset < 7; offset++) {
            operation("other");
        }
        return operation("k", value);
    }

    private static Conflict conflict(Operation operation, boolean isBeyondEnd) {
        return new Conflict(0, operation, new Place("t", new String(operation.id(), UTF_8)), isBeyondEnd);
    }

    private static String verdict(ConflictRules rules, Conflict conflict, StoredDocument stored, IndexTraits traits) {
        return rules.judge(conflict, stored, traits).getClass().getSimpleName();
    }

    /** The id names the record; whether the document does is seen from what is stored, unless something may change it. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '\0',
            value = {
                "1|{\"n\":1}|Own|Own|Own",
                "1|{ \"n\": 1.0 }|Own|Own|Own",
                "1|{\"n\":2}|Taken|Untold|Untold",
                "1|{\"n\":1,\"x\":2}|Taken|Untold|Untold",
                "1|{}|Untold|Untold|Untold",
                "1|{\"n\":[1,1]}|Taken|Untold|Own",
                "2|{\"n\":2}|Untold|Untold|Untold",
                "2|{\"n\":1}|Own|Own|Own",
                "1||Untold|Untold|Untold",
                "1|{\"n\":1,\"n\":2}|Untold|Untold|Untold",
            })
    void ofACreateTheStoredDocumentTells(long version, String source, String plain, String pipeline, String synthetic) {
        Conflict conflict = conflict(create(), false);
        StoredDocument stored = stored(version, source == null ? "" : source);
        assertEquals(plain, verdict(RULES, conflict, stored, PLAIN));
        assertEquals(pipeline, verdict(RULES, conflict, stored, WITH_PIPELINE));
        assertEquals(synthetic, verdict(RULES, conflict, stored, SYNTHETIC));
    }

    /** The index is asked about only where it matters. */
    @Test
    void theIndexIsAskedAboutOnlyWhereItMatters() {
        Conflict conflict = conflict(create(), false);
        assertEquals("Own", verdict(RULES, conflict, stored(1, "{\"n\":1}"), null));
        assertEquals("DependsOnIndex", verdict(RULES, conflict, stored(1, "{\"n\":2}"), null));
        assertEquals("Untold", verdict(new ConflictRules(true, "a pipeline"), conflict, stored(1, "{\"n\":2}"), null));
    }

    /** A document that is missing, or that the cluster does not give, is no other record's. */
    @Test
    void whatIsNotGivenIsNoConflict() {
        Conflict conflict = conflict(create(), false);
        assertEquals("Missing", verdict(RULES, conflict, missing(), PLAIN));
        assertEquals("Untold", ConflictRules.ofEverMissing(conflict).getClass().getSimpleName());
        assertEquals("Untold", verdict(RULES, conflict, StoredDocument.unavailable("security_exception"), null));
        assertEquals(
                "Untold", verdict(RULES, conflict, StoredDocument.unavailable("illegal_argument_exception"), null));
        assertEquals("Untold", verdict(RULES, conflict, StoredDocument.unavailable("status 405"), null));
        for (String type : new String[] {"index_not_found_exception", "es_rejected_execution_exception"}) {
            assertEquals("Again", verdict(RULES, conflict, StoredDocument.unavailable(type), null));
        }
    }

    /** An id that the cluster or a pipeline made says nothing of a record: without its own document there is a conflict. */
    @Test
    void anIdThatIsNotOursNamesNoRecord() {
        Conflict conflict = new Conflict(0, create(), new Place("t", "another"), false);
        assertEquals("Own", verdict(RULES, conflict, stored(1, "{\"n\":1}"), PLAIN));
        assertEquals("Own", verdict(RULES, conflict, stored(1, "{\"n\":\"1\"}"), SYNTHETIC));
        assertEquals("Taken", verdict(RULES, conflict, stored(1, "{\"n\":2}"), PLAIN));
        assertEquals("Taken", verdict(RULES, conflict, stored(1, "{\"n\":2}"), WITH_PIPELINE));
        assertEquals("Taken", verdict(RULES, conflict, StoredDocument.unavailable("security_exception"), PLAIN));
    }

    /** With keys, only the same version with another document is a conflict. */
    @Test
    void ofAKeyedRecordTheVersionTellsFirst() {
        Conflict conflict = conflict(keyed("{\"n\":1}"), false);
        assertEquals("Own", verdict(RULES, conflict, stored(7, "{\"n\":1}"), PLAIN));
        assertEquals("Taken", verdict(RULES, conflict, stored(7, "{\"n\":2}"), PLAIN));
        assertEquals("Untold", verdict(RULES, conflict, stored(7, "{\"n\":2}"), WITH_PIPELINE));
        assertEquals("Stale", verdict(RULES, conflict, stored(8, "{\"n\":2}"), PLAIN));
        assertEquals("Again", verdict(RULES, conflict, stored(6, "{\"n\":2}"), PLAIN));
        assertEquals("Missing", verdict(RULES, conflict, missing(), PLAIN));
    }

    /** A delete finds nothing, or a newer document; one of its own version was not written from its partition. */
    @Test
    void ofADeleteAnyDocumentOfItsVersionIsAnothers() {
        Operation delete = keyed(null);
        assertEquals("Own", verdict(RULES, conflict(delete, false), missing(), PLAIN));
        assertEquals("Taken", verdict(RULES, conflict(delete, false), stored(7, "{}"), PLAIN));
        assertEquals("Stale", verdict(RULES, conflict(delete, false), stored(8, "{}"), PLAIN));
        assertEquals("Taken", verdict(RULES, conflict(delete, true), stored(99, "{}"), PLAIN));
        assertEquals("Stale", verdict(RULES, conflict(delete, true), missing(), PLAIN));
    }

    /** Beyond the end of the partition a document that holds the record's was changed by another program, and nothing is lost. */
    @Test
    void beyondTheEndOnlyTheRecordsOwnDocumentIsNoConflict() {
        Conflict conflict = conflict(keyed("{\"n\":1}"), true);
        assertEquals("Stale", verdict(RULES, conflict, stored(99, "{\"n\":1}"), null));
        assertEquals("Stale", verdict(RULES, conflict, stored(99, "{\"n\":1,\"added\":2}"), null));
        assertEquals("Taken", verdict(RULES, conflict, stored(99, "{\"n\":2}"), null));
        assertEquals("Taken", verdict(RULES, conflict, StoredDocument.unavailable("security_exception"), null));
        assertEquals("Again", verdict(RULES, conflict, StoredDocument.unavailable("index_not_found_exception"), null));
    }
}
