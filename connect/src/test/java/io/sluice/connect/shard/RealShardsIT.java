package io.sluice.connect.shard;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.connect.RealElasticsearch;
import io.sluice.connect.cluster.Answer;
import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.encode.RecordEncoder;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.offset.Offsets;
import io.sluice.connect.offset.Origin;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** The shard that we compute for a document, and the one where the server that SLUICE_TEST_ELASTICSEARCH_URL names has it. */
@EnabledIfEnvironmentVariable(named = "SLUICE_TEST_ELASTICSEARCH_URL", matches = "http.*")
class RealShardsIT extends RealElasticsearch {
    private static final int DOCUMENTS = 300;

    private final Offsets offsets = new Offsets(new SinkMetrics());

    @BeforeEach
    @AfterEach
    void removeIndices() throws Exception {
        for (String index : List.of("shards-it", "shards-it-2")) {
            ask("DELETE", "/" + index, null);
        }
    }

    private static Map<String, String> answer(String method, String path, String body) throws Exception {
        return new Answer(URL, 200, ask(method, path, body).getBytes(UTF_8), false).scalars();
    }

    private static void create(String index, String settings) throws Exception {
        boolean isSpread = settings.contains("partition");
        String mappings = isSpread ? ",\"mappings\":{\"_routing\":{\"required\":true}}" : "";
        answer("PUT", "/" + index, "{\"settings\":{\"number_of_replicas\":0," + settings + "}" + mappings + "}");
    }

    /** Ids of all kinds: plain, with characters that JSON escapes, and beyond ASCII. */
    private List<Operation> operations(String index, boolean isRouted) throws Exception {
        TopicPartition partition = new TopicPartition("t", 0);
        offsets.open(List.of(partition));
        RecordEncoder encoder = new RecordEncoder(new SinkConfig(
                Map.of("connection.url", "http://localhost:9", "index.name", index, "routing", isRouted ? "/r" : "")));
        List<Operation> operations = new ArrayList<>();
        for (int i = 0; i < DOCUMENTS; i++) {
            String key = List.of("book-", "책-", "a\"b\\-", "📚 ").get(i % 4) + i;
            byte[] document = ("{\"r\":\"" + List.of("shop-", "서점 ").get(i % 2) + i % 7 + "\"}").getBytes(UTF_8);
            SinkRecord record = new SinkRecord("t", 0, null, key, null, document, i);
            operations.add(encoder.encode(
                    new Delivery(record, offsets.of("t", 0), new Origin("t", 0, i), System.nanoTime(), -1)));
        }
        return operations;
    }

    private static void store(String index, List<Operation> operations) throws Exception {
        StringBuilder body = new StringBuilder();
        for (Operation operation : operations) {
            for (int line = 0; line < operation.lines(); line++) {
                body.append(new String(operation.line(line), UTF_8)).append('\n');
            }
        }
        Map<String, String> stored = answer("POST", "/" + index + "/_bulk?refresh=true", body.toString());
        assertEquals("false", stored.get("/errors"), String.valueOf(stored.get("/items/0/index/error/reason")));
    }

    /** The shard of each document by its id, as the server's own searches of one shard find it. */
    private static Map<String, Integer> found(String index, int shards) throws Exception {
        Map<String, Integer> found = new TreeMap<>();
        for (int shard = 0; shard < shards; shard++) {
            int number = shard;
            answer("GET", "/" + index + "/_search?size=1000&_source=false&preference=_shards:" + shard, null)
                    .forEach((at, value) -> {
                        if (at.endsWith("/_id")) {
                            found.put(value, number);
                        }
                    });
        }
        return found;
    }

    private static Map<String, Integer> computed(String index, List<Operation> operations) throws Exception {
        ShardTable table = ShardTable.read(
                answer(
                        "GET",
                        "/_cluster/state/metadata,routing_table/" + index + "?filter_path=" + ShardTable.WANTED,
                        null),
                index);
        Map<String, Integer> computed = new TreeMap<>();
        operations.forEach(
                operation -> computed.put(operation.idText(), table.routing().shardOf(operation)));
        return computed;
    }

    private static void assertAllFound(String index, int shards, List<Operation> operations) throws Exception {
        Map<String, Integer> computed = computed(index, operations);
        assertEquals(DOCUMENTS, computed.size());
        assertEquals(found(index, shards), computed);
    }

    @Test
    void anIdTellsTheShard() throws Exception {
        create("shards-it", "\"number_of_shards\":5");
        List<Operation> operations = operations("shards-it", false);
        store("shards-it", operations);
        assertAllFound("shards-it", 5, operations);
    }

    @Test
    void aRoutingTellsTheShard() throws Exception {
        create("shards-it", "\"number_of_shards\":3");
        List<Operation> operations = operations("shards-it", true);
        store("shards-it", operations);
        assertAllFound("shards-it", 3, operations);
    }

    /** A routing that stands for several shards is spread over them by the id. */
    @Test
    void aSpreadRoutingTellsTheShardWithTheId() throws Exception {
        create("shards-it", "\"number_of_shards\":7,\"routing_partition_size\":3");
        List<Operation> operations = operations("shards-it", true);
        store("shards-it", operations);
        assertAllFound("shards-it", 7, operations);
    }

    @Test
    void aSplitIndexHasOtherShards() throws Exception {
        create("shards-it", "\"number_of_shards\":2");
        List<Operation> operations = operations("shards-it", false);
        store("shards-it", operations);
        resize("_split", 8);
        assertAllFound("shards-it-2", 8, operations);
    }

    @Test
    void aShrunkIndexHasOtherShards() throws Exception {
        String node = ask("GET", "/_cat/nodes?h=name", null)
                .lines()
                .findFirst()
                .orElseThrow()
                .trim();
        // All shards must be on one node.
        create("shards-it", "\"number_of_shards\":6,\"index.routing.allocation.require._name\":\"" + node + "\"");
        List<Operation> operations = operations("shards-it", false);
        store("shards-it", operations);
        resize("_shrink", 2);
        assertAllFound("shards-it-2", 2, operations);
    }

    private static void resize(String how, int shards) throws Exception {
        ask("PUT", "/shards-it/_settings", "{\"index.blocks.write\":true}");
        ask(
                "POST",
                "/shards-it/" + how + "/shards-it-2",
                "{\"settings\":{\"index.number_of_shards\":" + shards + ",\"index.blocks.write\":null}}");
        ask("GET", "/_cluster/health/shards-it-2?wait_for_status=yellow&timeout=30s", null);
    }
}
