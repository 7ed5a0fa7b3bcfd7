package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two nodes over real sockets that say of their shards where they are: what a node that is busy or slow costs others. */
class RequestsByShardIT {
    private final List<LocalServer> nodes = new ArrayList<>();
    private final Set<String> stored = ConcurrentHashMap.newKeySet();
    private final CountDownLatch end = new CountDownLatch(1);
    private final AtomicInteger questions = new AtomicInteger();
    private volatile int statusOfFirst = 200;
    private volatile boolean holdsQuestions;

    @BeforeEach
    void start() throws IOException {
        for (String name : List.of("a", "b")) {
            nodes.add(LocalServer.start(exchange -> handle(name, exchange)));
        }
    }

    @AfterEach
    void stop() {
        end.countDown();
        nodes.forEach(LocalServer::close);
    }

    private void handle(String name, HttpExchange exchange) throws IOException {
        try (exchange) {
            String path = exchange.getRequestURI().getPath();
            String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
            if (path.startsWith("/_nodes/_local")) {
                LocalServer.answer(exchange, 200, "{\"nodes\":{\"id-" + name + "\":{\"name\":\"n\"}}}");
            } else if (path.startsWith("/_cluster/state")) {
                questions.incrementAndGet();
                if (holdsQuestions) {
                    MisbehavingServer.await(end);
                }
                LocalServer.answer(exchange, 200, state(path.substring(path.lastIndexOf('/') + 1)));
            } else if (path.endsWith("/_bulk")) {
                bulk(name, path, body, exchange);
            } else {
                LocalServer.answer(exchange, 200, "{}");
            }
        }
    }

    private void bulk(String name, String path, String body, HttpExchange exchange) throws IOException {
        if (name.equals("a") && statusOfFirst != 200) {
            LocalServer.answer(exchange, statusOfFirst, "{}");
            return;
        }
        List<String> items = new ArrayList<>();
        body.lines().filter(line -> line.matches("\\{\"(index|create)\".*")).forEach(line -> {
            String id = line.contains("\"_id\"") ? line.replaceAll(".*\"_id\":\"([^\"]*)\".*", "$1") : "made";
            String action = line.substring(2, line.indexOf('"', 2));
            stored.add(path + id);
            items.add("{\"" + action + "\":{\"_index\":\"" + path.split("/")[1] + "\",\"_id\":\"" + id
                    + "\",\"status\":201}}");
        });
        LocalServer.answer(exchange, 200, "{\"errors\":false,\"items\":[" + String.join(",", items) + "]}");
    }

    private static String state(String index) {
        return ("{'metadata':{'indices':{'" + index + "':{'routing_num_shards':4,'settings':{'index':"
                        + "{'number_of_shards':'2'}}}}},'routing_table':{'indices':{'" + index
                        + "':{'shards':{'0':[{'primary':true,'node':'id-a'}],'1':[{'primary':true,'node':'id-b'}]}}}}}")
                .replace('\'', '"');
    }

    private static List<SinkRecord> records(TaskHarness harness, TopicPartition partition, int from, int count) {
        List<SinkRecord> records = new ArrayList<>();
        for (int i = from; i < from + count; i++) {
            records.add(harness.record(partition, "k" + i, "{\"i\":" + i + "}"));
        }
        return records;
    }

    /** Two nodes, one of which refuses every bulk request with a status that says nothing of the documents. */
    @ParameterizedTest
    @ValueSource(strings = {"3", "20"})
    void aNodeThatRefusesBulksCostsNoDocument(String inFlight) {
        String urls = nodes.get(0).url() + "," + nodes.get(1).url();
        try (TaskHarness harness = new TaskHarness(
                urls,
                Map.of(
                        "batch.size", "20",
                        "max.in.flight.requests", inFlight,
                        "read.timeout.ms", "5000",
                        "retry.timeout.ms", "20000"))) {
            harness.put(records(harness, TaskHarness.PARTITION, 0, 300));
            harness.putUntilCompleted();
            MisbehavingServer.sleep(300);
            statusOfFirst = 429;
            harness.put(records(harness, TaskHarness.PARTITION, 300, 1_000));
            harness.putUntilCompleted();
            assertEquals(Set.of(), Set.copyOf(harness.deadLetters));
            assertEquals(1_300, harness.committable());
        }
    }

    /** A master that is slow to tell of its shards keeps no bulk request from being sent. */
    @Test
    void aSlowMasterHoldsUpNoRequest() {
        holdsQuestions = true;
        List<TopicPartition> partitions = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            partitions.add(new TopicPartition("topic" + i, 0));
        }
        try (TaskHarness harness = new TaskHarness(
                partitions,
                nodes.get(1).url(),
                Map.of(
                        "batch.size", "20",
                        "max.in.flight.requests", "1",
                        "read.timeout.ms", "20000"))) {
            long from = System.nanoTime();
            List<SinkRecord> records = new ArrayList<>();
            partitions.forEach(partition -> records.addAll(records(harness, partition, 0, 100)));
            harness.put(records);
            harness.putUntilCompleted();
            long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - from);
            assertEquals(1_200, stored.size());
            assertTrue(tookMs < 10_000, "took " + tookMs + " ms");
        }
    }

    /** Nobody asks for the shards of documents that the cluster names, and so places, itself. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void documentsThatTheClusterNamesAreNotFormedByShard(boolean areNamed) {
        String urls = nodes.get(0).url() + "," + nodes.get(1).url();
        try (TaskHarness harness = new TaskHarness(
                urls,
                Map.of(
                        "batch.size",
                        "20",
                        "key.ignore",
                        "true",
                        "use.autogenerated.ids",
                        Boolean.toString(areNamed)))) {
            harness.put(records(harness, TaskHarness.PARTITION, 0, 300));
            harness.putUntilCompleted();
            assertEquals(areNamed, questions.get() == 0);
        }
    }
}
