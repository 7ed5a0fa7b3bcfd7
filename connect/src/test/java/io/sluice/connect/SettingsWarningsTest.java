package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the log says of settings that may be meant, but rarely are. */
class SettingsWarningsTest {
    private static List<String> warnings(String... settings) {
        Map<String, String> given = TaskHarness.settings(
                Map.of("name", "sink-7", "connection.url", "http://a", "validate.connection", "false"), settings);
        try (CapturedLog log = new CapturedLog()) {
            new ElasticsearchSinkConnector().validate(given);
            return log.linesWith("sink-7: ");
        }
    }

    private static void assertWarns(String text, String... settings) {
        List<String> warnings = warnings(settings);
        assertEquals(1, warnings.size(), warnings.toString());
        assertTrue(warnings.get(0).contains("WARNING: sink-7: " + text), warnings.toString());
    }

    /** Versions are offsets, which only order the records of one partition. */
    @Test
    void keyedTopicsInOneIndexAreWarnedOf() {
        String[] shared = {"topics", "a,b,c", "index.name", "all"};
        assertWarns("index.name: a, b, c are written into all: ", shared);
        assertWarns(
                "index.name: a, c are written into all: ",
                "topics",
                "a,b,c",
                "index.name",
                "all",
                "key.ignore.topics",
                "b");
        assertEquals(List.of(), warnings("topics", "a,b", "index.name", "all", "external.version.header", "v"));
        assertEquals(List.of(), warnings("topics", "a,b", "index.name", "all", "key.ignore", "true"));
        assertEquals(List.of(), warnings("topics", "a,b"));
        assertEquals(List.of(), warnings("topics.regex", ".*", "index.name", "all"));
    }

    /** A key's next record may be of another day. */
    @Test
    void keysInDatedIndicesAreWarnedOf() {
        assertWarns(
                "index.name: a record of a key that goes to the index of another time",
                "topics",
                "a",
                "index.name",
                "a-{yyyy}");
        assertEquals(List.of(), warnings("topics", "a", "index.name", "a-{yyyy}", "key.ignore", "true"));
    }

    /** A tombstone has the headers that its producer gives it. */
    @Test
    void deletesRoutedByHeaderAreWarnedOf() {
        assertWarns(
                "routing: a tombstone without the header",
                "topics",
                "a",
                "routing",
                "header:h",
                "behavior.on.null.values",
                "delete");
        assertEquals(List.of(), warnings("topics", "a", "routing", "header:h"));
    }

    /** A replay sets the header on whichever connector it is given, so it is not refused. */
    @Test
    void versionsWithoutEffectAreWarnedOf() {
        assertWarns(
                "external.version.header: has no effect",
                "topics",
                "a",
                "external.version.header",
                "v",
                "write.method",
                "upsert");
        assertWarns(
                "external.version.header: has no effect",
                "topics",
                "a",
                "external.version.header",
                "v",
                "key.ignore",
                "true");
    }

    /** While something is refused the warnings wait. */
    @Test
    void refusalsComeFirst() {
        assertEquals(List.of(), warnings("topics", "a,b", "index.name", "all", "batch.size", "0"));
    }
}
