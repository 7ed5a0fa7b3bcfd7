package io.sluice.connect.shard;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The hash and the shard of texts; the values are Elasticsearch's ({@code Murmur3HashFunctionTests.java}). */
class ShardRoutingTest {
    @ParameterizedTest
    @CsvSource({
        "hell, 0x5a0cb7c3",
        "hello, 0xd7c31989",
        "hello w, 0x22ab2984",
        "hello wo, 0xdf0ca123",
        "hello wor, 0xe7744d61",
        "The quick brown fox jumps over the lazy dog, 0xe07db09c",
        "The quick brown fox jumps over the lazy cog, 0x4e63d2ad",
    })
    void aTextHasTheHashThatElasticsearchGivesIt(String text, String hash) {
        assertEquals(
                Integer.decode("0x" + hash.substring(2, 6)) << 16 | Integer.decode("0x" + hash.substring(6)),
                Murmur3.ofText(text.getBytes(UTF_8)));
    }

    /** What stands between quotes is hashed as the text that it means. */
    @Test
    void escapesAreUndone() {
        assertEquals(Murmur3.ofText("a".getBytes(UTF_8)), Murmur3.ofText("\\u0061".getBytes(UTF_8)));
    }

    @ParameterizedTest
    @CsvSource({
        "0, 1, 1, false",
        "3, 768, 1, true",
        "3, 3, 1, true",
        "3, 2, 1, false",
        "3, 7, 1, false",
        "3, 3, 0, false"
    })
    void anIndexHasAMultipleOfItsShards(int shards, int routingShards, int partitionSize, boolean isPossible) {
        assertEquals(isPossible, new ShardRouting(shards, routingShards, partitionSize).isPossible());
    }
}
