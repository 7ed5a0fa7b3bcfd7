package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.shard.ShardRouting;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Which documents share a request once the shards of their index are known. */
class BulkWriterShardsTest extends WriterWorld {
    private static final ShardRouting THREE = new ShardRouting(3, 768, 1);
    private static final ShardRouting SIX = new ShardRouting(6, 768, 1);

    private int number;

    private List<Integer> shardsIn(Bulk bulk, ShardRouting routing) {
        return bulk.operations().stream()
                .map(routing::shardOf)
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
        client.routing = THREE;
        BulkWriter writer = writer(20, 1 << 20, 2, false);
        writer.add(operations(60));
        assertEquals(2, client.sent.size());
        for (Bulk bulk : client.sent) {
            assertEquals(List.of(bulk.shard()), shardsIn(bulk, THREE));
            assertTrue(bulk.isOneOfSeveral());
        }
        assertEquals(2L, attribute("BulkRequestsByShard"));
    }

    /** What fits into one request goes in one, whatever its shards, as soon as the linger time is over. */
    @Test
    void fewDocumentsShareARequest() {
        client.routing = THREE;
        BulkWriter writer = writer(20, 1 << 20, 5, false);
        writer.add(operations(19));
        assertEquals(0, client.sent.size());
        timers.advance(5);
        assertEquals(List.of(19), sizesSent());
        assertEquals(ShardRouting.NO_SHARD, client.sent.get(0).shard());
        assertFalse(client.sent.get(0).isOneOfSeveral());
    }

    /** The oldest document goes first, however few others wait for its shard. */
    @Test
    void noShardStarvesAnother() {
        client.routing = THREE;
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
            if (THREE.shardOf(operation) == shard) {
                return operation;
            }
        }
    }

    /** When the index is split, what waits is gathered anew, and nothing is lost. */
    @Test
    void aSplitIndexIsGatheredAnew() {
        client.routing = THREE;
        BulkWriter writer = writer(30, 1 << 20, 1, false);
        List<Operation> all = operations(120);
        writer.add(all.subList(0, 60));
        client.routing = SIX;
        writer.add(all.subList(60, 120));
        for (int request = 0; request < client.sent.size(); request++) {
            client.succeed(request);
            timers.advance(5);
        }
        assertEquals(120, client.sent.stream().mapToInt(Bulk::size).sum());
        client.sent.subList(1, client.sent.size()).stream()
                .filter(bulk -> bulk.shard() != ShardRouting.NO_SHARD)
                .forEach(bulk -> assertEquals(List.of(bulk.shard()), shardsIn(bulk, SIX)));
    }

    /** Operations on one document keep their order when its shard changes while they wait. */
    @Test
    void aDocumentKeepsItsOrder() {
        BulkWriter writer = writer(1_000, 1 << 20, 1, false);
        for (int i = 0; i < 50; i++) {
            client.routing = i % 2 == 0 ? THREE : SIX;
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
        client.routing = THREE;
        BulkWriter writer = writer(20, 1 << 20, 50, false);
        writer.add(operations(95));
        writer.flush();
        assertEquals(95, client.sent.stream().mapToInt(Bulk::size).sum());
    }

    /** Half of a refused request goes to the same shard. */
    @Test
    void aHalfKeepsItsShard() {
        client.routing = THREE;
        BulkWriter writer = writer(20, 1 << 20, 1, false);
        writer.add(operations(60));
        int shard = client.sent.get(0).shard();
        client.refuse(0, 413);
        client.succeed(1);
        assertEquals(
                List.of(shard, shard, shard),
                client.sent.stream().map(Bulk::shard).toList());
        assertEquals(3, client.sent.size());
    }

    /** The age of a request is that of its oldest document, wherever that stands in the body. */
    @Test
    void theOldestDocumentTellsTheAge() {
        client.routing = THREE;
        BulkWriter writer = writer(20, 1 << 20, 1, false);
        Operation first = ofShard(2);
        timers.advance(3);
        writer.add(List.of(first, ofShard(0), ofShard(1)));
        timers.advance(7);
        assertEquals(first, client.sent.get(0).operations().get(2));
        assertEquals(10, writer.oldestAgeMillis());
    }
}
