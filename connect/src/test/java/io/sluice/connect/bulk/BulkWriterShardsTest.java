package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.shard.ShardRouting;
import io.sluice.connect.shard.ShardTable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Which documents share a request once the shards of their index are known. */
class BulkWriterShardsTest extends WriterWorld {
    private static final ShardTable THREE = new ShardTable(new ShardRouting(3, 768, 1), List.of("a", "b", "c"));
    private static final ShardTable SIX =
            new ShardTable(new ShardRouting(6, 768, 1), List.of("a", "b", "c", "a", "b", "c"));

    private int number;

    private List<String> nodesIn(Bulk bulk, ShardTable shards) {
        return bulk.operations().stream()
                .map(operation -> shards.nodeOf(shards.routing().shardOf(operation)))
                .distinct()
                .sorted()
                .collect(Collectors.toList());
    }

    private List<Operation> operations(int count) {
        List<Operation> operations = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            operations.add(operation("key-" + i));
        }
        return operations;
    }

    /** While more waits than one request takes, each request holds documents of one shard, and says of which. */
    @Test
    void fullRequestsHoldOneShard() {
        client.shards = THREE;
        BulkWriter writer = writer(20, 1 << 20, 2, false);
        writer.add(operations(60));
        assertEquals(2, client.sent.size());
        for (Bulk bulk : client.sent) {
            assertEquals(List.of(bulk.node()), nodesIn(bulk, THREE));
            assertTrue(bulk.isOneOfSeveral());
        }
        assertEquals(2L, attribute("BulkRequestsByShard"));
    }

    /** What fits into one request goes in one, whatever its shards, as soon as the linger time is over. */
    @Test
    void fewDocumentsShareARequest() {
        client.shards = THREE;
        BulkWriter writer = writer(20, 1 << 20, 5, false);
        writer.add(operations(19));
        assertEquals(0, client.sent.size());
        timers.advance(5);
        assertEquals(List.of(19), sizesSent());
        assertEquals("", client.sent.get(0).node());
        assertFalse(client.sent.get(0).isOneOfSeveral());
    }

    /** The oldest document goes first, however few others wait for its shard. */
    @Test
    void noShardStarvesAnother() {
        client.shards = THREE;
        BulkWriter writer = writer(10, 1 << 20, 1, false);
        Operation rare = ofShard(0);
        add(writer, rare);
        timers.advance(1);
        List<Operation> others = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            others.add(ofShard(1 + i % 2));
        }
        writer.add(others);
        assertEquals(List.of(rare), client.sent.get(0).operations());
    }

    private Operation ofShard(int shard) {
        while (true) {
            Operation operation = operation("key-" + number++);
            if (THREE.routing().shardOf(operation) == shard) {
                return operation;
            }
        }
    }

    /** When the index is split, what waits is gathered anew, and nothing is lost. */
    @Test
    void aSplitIndexIsGatheredAnew() {
        client.shards = THREE;
        BulkWriter writer = writer(30, 1 << 20, 1, false);
        List<Operation> all = operations(120);
        writer.add(all.subList(0, 60));
        client.shards = SIX;
        writer.add(all.subList(60, 120));
        for (int request = 0; request < client.sent.size(); request++) {
            client.succeed(request);
            timers.advance(5);
        }
        assertEquals(120, client.sent.stream().mapToInt(Bulk::size).sum());
        client.sent.subList(1, client.sent.size()).stream()
                .filter(bulk -> !bulk.node().isEmpty())
                .forEach(bulk -> assertEquals(List.of(bulk.node()), nodesIn(bulk, SIX)));
    }

    /** Operations on one document keep their order when its shard changes while they wait. */
    @Test
    void aDocumentKeepsItsOrder() {
        BulkWriter writer = writer(1_000, 1 << 20, 1, false);
        for (int i = 0; i < 50; i++) {
            client.shards = i % 2 == 0 ? THREE : SIX;
            add(writer, operation(i % 5 == 0 ? "same" : "key-" + i));
        }
        writer.flush();
        List<Long> versions = client.sent.get(0).operations().stream()
                .filter(operation -> operation.idText().equals("same"))
                .map(Operation::version)
                .collect(Collectors.toList());
        assertEquals(List.of(0L, 5L, 10L, 15L, 20L, 25L, 30L, 35L, 40L, 45L), versions);
    }

    /** A flush sends all that waits, by shard where it is more than a request takes. */
    @Test
    void aFlushLeavesNothing() {
        client.shards = THREE;
        BulkWriter writer = writer(20, 1 << 20, 50, false);
        writer.add(operations(95));
        writer.flush();
        assertEquals(95, client.sent.stream().mapToInt(Bulk::size).sum());
    }

    /** A request that was refused, and its halves, go to any node: another one may take them. */
    @Test
    void whatWasRefusedGoesToAnyNode() {
        client.shards = THREE;
        BulkWriter writer = writer(20, 1 << 20, 1, false);
        writer.add(operations(60));
        client.refuse(0, 413);
        client.succeed(1);
        assertEquals(
                List.of("", "", ""),
                client.sent.subList(0, 3).stream().map(Bulk::node).toList());
    }

    /** The age of a request is that of its oldest document, wherever that stands in the body. */
    @Test
    void theOldestDocumentTellsTheAge() {
        client.shards = THREE;
        BulkWriter writer = writer(20, 1 << 20, 1, false);
        Operation first = ofShard(2);
        timers.advance(3);
        writer.add(List.of(first, ofShard(0), ofShard(1)));
        timers.advance(7);
        assertEquals(first, client.sent.get(0).operations().get(2));
        assertEquals(10, writer.oldestAgeMillis());
    }

    /** A request is filled up with documents of other shards on the same node. */
    @Test
    void shardsOfANodeFillARequest() {
        client.shards = SIX;
        BulkWriter writer = writer(20, 1 << 20, 1, false);
        List<Operation> all = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            all.add(ofNode("a"));
            all.add(ofNode("b"));
        }
        writer.add(all);
        assertEquals(20, client.sent.get(0).size());
        assertEquals(1, nodesIn(client.sent.get(0), SIX).size());
    }

    private Operation ofNode(String node) {
        while (true) {
            Operation operation = operation("key-" + number++);
            if (SIX.nodeOf(SIX.routing().shardOf(operation)).equals(node)) {
                return operation;
            }
        }
    }

    /** With a thousand shards requests are as large as with one. */
    @Test
    void manyShardsMakeNoSmallRequests() {
        List<String> nodes = new ArrayList<>();
        for (int shard = 0; shard < 1_000; shard++) {
            nodes.add(shard % 2 == 0 ? "a" : "b");
        }
        client.shards = new ShardTable(new ShardRouting(1_000, 1_000, 1), nodes);
        BulkWriter writer = writer(50, 1 << 20, 20, false);
        writer.add(operations(1_000));
        assertEquals(List.of(50, 50, 50, 50, 50, 50), sizesSent().subList(0, 6));
    }

    /** A single document beyond the bytes of a request is none of several. */
    @Test
    void aLargeDocumentThatIsAloneIsNotOneOfSeveral() {
        client.shards = THREE;
        BulkWriter writer = writer(20, 100, 1, false);
        add(writer, "{\"a\":\"" + "x".repeat(500) + "\"}");
        assertFalse(client.sent.get(0).isOneOfSeveral());
        assertEquals("", client.sent.get(0).node());
    }

    /** When nothing is known of shards any more, the oldest document is the first again. */
    @Test
    void theOldestIsFirstAfterShardsAreForgotten() {
        client.shards = THREE;
        BulkWriter writer = writer(1_000, 1 << 20, 1, false);
        add(writer, operation("in flight"));
        writer.flush();
        writer.add(List.of());
        Operation oldest = ofShard(2);
        add(writer, oldest);
        timers.advance(1);
        add(writer, ofShard(0));
        client.shards = ShardTable.UNKNOWN;
        timers.advance(1);
        add(writer, ofShard(1));
        client.succeed(0);
        timers.advance(10);
        assertEquals(oldest, client.sent.get(1).operations().get(0));
    }

    /** While a target is not served because one of its shards is out, documents of the others are stored. */
    @Test
    void aShardThatIsOutStarvesNoOther() {
        client.shards = THREE;
        BulkWriter writer = writer(10, 1 << 20, 1, false);
        writer.setSeveralTargets(true);
        List<Operation> all = new ArrayList<>();
        for (int i = 0; i < 45; i++) {
            all.add(ofShard(i < 5 ? 0 : 1 + i % 2));
        }
        writer.add(all);
        int stored = 0;
        for (int request = 0; timers.nowMs() < 50_000; ) {
            if (request == client.sent.size()) {
                timers.advance(100);
                continue;
            }
            List<Operation> operations = List.copyOf(client.sent.get(request).operations());
            client.answer(request++, item -> THREE.routing().shardOf(operations.get(item)) == 0 ? 503 : 201);
            stored += (int) operations.stream()
                    .filter(operation -> THREE.routing().shardOf(operation) != 0)
                    .count();
        }
        assertEquals(40, stored);
    }
}
