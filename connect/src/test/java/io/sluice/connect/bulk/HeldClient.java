package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.shard.ShardTable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Keeps requests until a test answers them. */
final class HeldClient implements BulkClient {
    final List<Bulk> sent = new ArrayList<>();
    private final List<List<Operation>> operations = new ArrayList<>();
    private final ArrayDeque<Integer> open = new ArrayDeque<>();
    private Listener listener;
    ShardTable shards = ShardTable.UNKNOWN;
    int answered;
    boolean running = true;
    boolean hasLivingNode;
    Consumer<Bulk> onSend = bulk -> {};

    @Override
    public void send(Bulk bulk, Listener whoAsks) {
        assertEquals(bulk.operations().stream().mapToLong(Operation::bodyBytes).sum(), bulk.bodyBytes());
        assertTrue(bulk.size() > 0, "a request without operations");
        onSend.accept(bulk);
        listener = whoAsks;
        open.add(sent.size());
        sent.add(bulk);
        operations.add(List.copyOf(bulk.operations()));
    }

    List<String> offsets(int request) {
        return operations.get(request).stream()
                .map(operation -> Long.toString(operation.version()))
                .collect(Collectors.toList());
    }

    private void close(int request) {
        assertTrue(open.remove(request), "answered twice");
        answered++;
    }

    void succeed(int request) {
        answer(request, item -> 201);
    }

    void answer(int request, IntFunction<Integer> statusOfItem) {
        answer(
                request,
                IntStream.range(0, operations.get(request).size())
                        .mapToObj(statusOfItem)
                        .map(status -> status + (status < 300 ? "" : " some_exception"))
                        .toArray(String[]::new));
    }

    /** @param items the status of each and, after a space, the type of its error */
    void answer(int request, String... items) {
        close(request);
        listener.answered(sent.get(request), answerOf(operations.get(request), items));
    }

    /** Each item met a document of which it is not known yet whose it is. */
    void doubt(int request) {
        close(request);
        List<Operation> asked = operations.get(request);
        String[] items = asked.stream()
                .map(operation -> "409 version_conflict_engine_exception")
                .toArray(String[]::new);
        BulkAnswer answer = answerOf(asked, items);
        IntStream.range(0, items.length).forEach(item -> answer.decide(item, Outcome.AGAIN));
        listener.answered(sent.get(request), answer);
    }

    /** The answer meets a bug of ours. */
    void answerByNothing(int request) {
        close(request);
        listener.answered(sent.get(request), null);
    }

    void refuse(int request, int status) {
        refuse(request, status, "some_exception");
    }

    void refuse(int request, int status, String type) {
        close(request);
        listener.refused(sent.get(request), status, new ItemError(type, "some reason"));
    }

    void fail(int request, Exception cause) {
        close(request);
        listener.unanswered(sent.get(request), cause);
    }

    void answerRandomly(Random random) {
        if (open.isEmpty() || random.nextInt(3) == 0) {
            return;
        }
        int request = List.copyOf(open).get(random.nextInt(open.size()));
        switch (random.nextInt(5)) {
            case 0 -> refuse(request, 503);
            case 1 -> fail(request, new IOException("reset"));
            default -> answer(request, item -> random.nextInt(4) == 0 ? 429 : 200);
        }
    }

    private static BulkAnswer answerOf(List<Operation> operations, String... items) {
        String json = IntStream.range(0, items.length)
                .mapToObj(item -> itemOf(operations.get(item), items[item]))
                .collect(Collectors.joining(",", "{\"errors\":true,\"items\":[", "]}"));
        try {
            String index = operations.get(0).index();
            return BulkAnswer.read(json.getBytes(UTF_8), index, operations, new AnswerChecks(false));
        } catch (IOException unreadable) {
            throw new AssertionError(unreadable);
        }
    }

    private static String itemOf(Operation operation, String item) {
        String[] words = item.split(" ");
        String error = words.length == 1 ? "" : ",\"error\":{\"type\":\"" + words[1] + "\",\"reason\":\"some reason\"}";
        return Wire.itemOf(operation, "\"status\":" + words[0] + error);
    }

    @Override
    public ShardTable shardsOf(String index) {
        return shards;
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public boolean hasLivingNode() {
        return hasLivingNode;
    }

    @Override
    public int nodesLeftOut() {
        return 0;
    }

    @Override
    public void close() {
        // Nothing is open.
    }
}
