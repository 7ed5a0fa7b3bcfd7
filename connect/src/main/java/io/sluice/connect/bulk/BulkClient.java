package io.sluice.connect.bulk;

import io.sluice.connect.shard.ShardTable;

/** Sends bulk requests; the answer comes on a thread of the client's own. */
public interface BulkClient extends AutoCloseable {
    void send(Bulk bulk, Listener listener);

    /** The shards of an index, as far as they are known and of use now. */
    ShardTable shardsOf(String index);

    /** Whether it can send at all; once it cannot, it never will again. */
    boolean isRunning();

    /** Whether a request that one node did not serve may go to another at once. */
    boolean hasLivingNode();

    /** How many nodes are left out for a while, since they failed. */
    int nodesLeftOut();

    @Override
    void close();

    /** Exactly one of these is called for each request. */
    interface Listener {
        void answered(Bulk bulk, BulkAnswer answer);

        void refused(Bulk bulk, int status, ItemError error);

        /** No answer, or none that can be read. */
        void unanswered(Bulk bulk, Exception cause);
    }
}
