package io.sluice.connect.stored;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SyntheticSourceTest {
    private static Object tree(String json) throws IOException {
        byte[] bytes = json.getBytes(UTF_8);
        return JsonTree.read(bytes, 0, bytes.length);
    }

    /** What a synthetic source loses makes no difference, another value does. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '\0',
            value = {
                "{\"a.b\":1,\"c\":null}|{\"a\":{\"b\":1}}|true",
                "{\"a\":[3,1,3]}|{\"a\":[1,3]}|true",
                "{\"a\":[{\"b\":1},{\"b\":2}]}|{\"a\":{\"b\":[1,2]}}|true",
                "{\"a\":\"7\"}|{\"a\":7}|true",
                "{\"a\":1.0}|{\"a\":1}|true",
                "{\"a\":0.10000000000000001}|{\"a\":0.1}|true",
                "{\"a\":true}|{\"a\":\"true\"}|true",
                "{\"t\":\"2026-01-01T00:00:00Z\"}|{\"t\":\"2026-01-01T00:00:00.000Z\"}|true",
                "{\"t\":\"2026-01-01T01:00:00+01:00\"}|{\"t\":\"2026-01-01T00:00:00.000Z\"}|true",
                "{\"t\":\"2026-01-01\"}|{\"t\":\"2026-01-01T00:00:00.000Z\"}|true",
                "{\"t\":1767225600000}|{\"t\":\"2026-01-01T00:00:00.000Z\"}|true",
                "{\"t\":\"2026-01-01T00:00:00.123456789Z\"}|{\"t\":\"2026-01-01T00:00:00.123Z\"}|true",
                "{\"t\":\"2026-13-77\"}|{\"t\":\"2026-13-77\"}|true",
                "{\"t\":\"2026-01-01T00:00:01Z\"}|{\"t\":\"2026-01-01T00:00:00.000Z\"}|false",
                "{\"a\":9007199254740993}|{\"a\":9007199254740992}|false",
                "{\"a\":1}|{\"a\":2}|false",
                "{\"a\":1}|{\"b\":1}|false",
                "{\"a\":[1,2]}|{\"a\":1}|false",
            })
    void whatItLosesMakesNoDifference(String sent, String stored, boolean expected) throws IOException {
        assertEquals(expected, SyntheticSource.areAlike(tree(sent), tree(stored)));
    }
}
