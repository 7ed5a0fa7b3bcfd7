package io.sluice.connect.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tables from the scalars of an answer to {@code _cluster/state}. */
class ShardTableTest {
    private final Map<String, String> scalars = new HashMap<>(Map.of(
            "/metadata/indices/books/routing_num_shards", "4",
            "/metadata/indices/books/settings/index/number_of_shards", "2",
            "/routing_table/indices/books/shards/0/0/primary", "false",
            "/routing_table/indices/books/shards/0/0/node", "b",
            "/routing_table/indices/books/shards/0/1/primary", "true",
            "/routing_table/indices/books/shards/0/1/node", "a",
            "/routing_table/indices/books/shards/1/0/primary", "true"));

    private ShardTable table() {
        return ShardTable.read(scalars, "books");
    }

    /** The node of each primary is known, but for one that is nowhere; the nodes of replicas do not matter. */
    @Test
    void primariesAreOnNodes() {
        assertEquals(new ShardTable(new ShardRouting(2, 4, 1), List.of("a", "")), table());
        assertEquals("a", table().nodeOf(0));
        assertEquals("", table().nodeOf(1));
        assertEquals("", table().nodeOf(ShardRouting.NO_SHARD));
    }

    /** Requests by shard are of use where the primaries are on several nodes. */
    @Test
    void primariesOnOneNodeAreOfNoUse() {
        assertFalse(table().isOfSeveralNodes());
        scalars.put("/routing_table/indices/books/shards/1/0/node", "b");
        assertTrue(table().isOfSeveralNodes());
    }

    /** Nothing is known of an index that places documents by what stands in them. */
    @Test
    void timeSeriesArePlacedByTheirContents() {
        scalars.put("/metadata/indices/books/settings/index/mode", "time_series");
        assertEquals(ShardTable.UNKNOWN, table());
    }

    /** Nothing is known of an index of OpenSearch that places documents by virtual shards. */
    @Test
    void virtualShardsAreNotKnown() {
        scalars.put("/metadata/indices/books/settings/index/number_of_virtual_shards", "-1");
        assertEquals(new ShardRouting(2, 4, 1), table().routing());
        scalars.put("/metadata/indices/books/settings/index/number_of_virtual_shards", "6");
        assertEquals(ShardTable.UNKNOWN, table());
    }

    /** An index that Elasticsearch 9.4 or later made has no use for its routing shards; one of OpenSearch has. */
    @Test
    void newerIndicesAreRoutedByTheirShards() {
        scalars.put("/metadata/indices/books/settings/index/version/created", "9064000");
        assertEquals(new ShardRouting(2, 2, 1), table().routing());
        for (String older : new String[] {"9063000", "137247827"}) {
            scalars.put("/metadata/indices/books/settings/index/version/created", older);
            assertEquals(new ShardRouting(2, 4, 1), table().routing());
        }
    }

    /** Numbers that cannot be those of an index say nothing. */
    @Test
    void impossibleNumbersSayNothing() {
        scalars.put("/metadata/indices/books/routing_num_shards", "3");
        assertEquals(ShardTable.UNKNOWN, table());
    }
}
