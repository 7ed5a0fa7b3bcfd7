package io.sluice.connect.shard;

import io.sluice.connect.encode.Operation;

/**
 * The shard that a document of an index goes to, as the cluster computes it.
 *
 * <p>Source: {@code IndexRouting.java} and {@code OperationRouting.java} of Elasticsearch 8.19 and OpenSearch 3
 * ({@code generateShardId}, {@code calculateScaledShardId}).
 *
 * @param shards number of primary shards
 * @param routingShards {@code number_of_routing_shards}, a multiple of {@code shards}
 * @param partitionSize {@code index.routing_partition_size}: over so many shards the documents of one routing are spread
 */
public record ShardRouting(int shards, int routingShards, int partitionSize) {
    /** An index of which nothing is known, or whose documents the cluster places by something else. */
    public static final ShardRouting UNKNOWN = new ShardRouting(0, 1, 1);

    /** The shard of a document that the cluster names itself. */
    public static final int NO_SHARD = -1;

    /** As many as Elasticsearch allows unless it is told otherwise; each request looks at all of them. */
    private static final int MOST_SHARDS = 1 << 10;

    /** Whether these numbers can be those of an index. */
    public boolean isPossible() {
        return shards > 0
                && shards <= MOST_SHARDS
                && partitionSize > 0
                && routingShards >= shards
                && routingShards % shards == 0;
    }

    /**
     * The number of a document's shard.
     *
     * @return 0 to {@code shards - 1}, or {@link #NO_SHARD} where the operation itself does not tell
     */
    public int shardOf(Operation operation) {
        boolean isSpread = partitionSize > 1;
        byte[] hashed = operation.routing().length > 0 ? operation.routing() : operation.id();
        if (shards == 0 || hashed.length == 0 || isSpread && !operation.hasId()) {
            return NO_SHARD;
        }
        int offset = isSpread ? Math.floorMod(Murmur3.ofText(operation.id()), partitionSize) : 0;
        return Math.floorMod(Murmur3.ofText(hashed) + offset, routingShards) / (routingShards / shards);
    }
}
