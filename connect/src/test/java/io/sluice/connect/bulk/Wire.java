package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.shard.ShardTable;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Takes requests to a server that is played in the same thread; reads the answers as the real client does. */
public final class Wire implements BulkClient {
    private static final Pattern ID = Pattern.compile("(\"_id\":\"(?:[^\"\\\\]|\\\\.)*\")");

    private final Consumer<Exchange> server;
    private final Supplier<ShardTable> tables;
    private final AnswerChecks checks = new AnswerChecks(false);

    public Wire(Consumer<Exchange> server) {
        this(server, () -> ShardTable.UNKNOWN);
    }

    /** @param tables what it says of shards each time that it is asked */
    public Wire(Consumer<Exchange> server, Supplier<ShardTable> tables) {
        this.server = server;
        this.tables = tables;
    }

    @Override
    public void send(Bulk bulk, Listener listener) {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        for (Operation operation : bulk.operations()) {
            for (int line = 0; line < operation.lines(); line++) {
                body.writeBytes(operation.line(line));
                body.write('\n');
            }
        }
        if (body.size() != bulk.bodyBytes() || body.size() == 0) {
            throw new AssertionError("a body of " + body.size() + " bytes is said to have " + bulk.bodyBytes());
        }
        server.accept(new Exchange(bulk, listener, body.toString(UTF_8)));
    }

    @Override
    public ShardTable shardsOf(String index) {
        return tables.get();
    }

    @Override
    public boolean isRunning() {
        return true;
    }

    @Override
    public boolean hasLivingNode() {
        return false;
    }

    @Override
    public int nodesLeftOut() {
        return 0;
    }

    @Override
    public void close() {
        // Nothing is open.
    }

    /** An item of an answer that names the document of the operation. */
    static String itemOf(Operation operation, String more) {
        String action = new String(operation.line(0), UTF_8);
        Matcher id = ID.matcher(action);
        return action.substring(0, action.indexOf(':')) + ":{\"_index\":\"" + operation.index() + "\","
                + (id.find() ? id.group(1) : "\"_id\":\"made\"") + "," + more + "}}";
    }

    /** One request, to be answered once. */
    public final class Exchange {
        private final Bulk bulk;
        private final Listener listener;
        private final String body;
        private final List<Operation> operations;

        private Exchange(Bulk bulk, Listener listener, String body) {
            this.bulk = bulk;
            this.listener = listener;
            this.body = body;
            this.operations = bulk.operations();
        }

        public String index() {
            return bulk.index();
        }

        public String body() {
            return body;
        }

        public int items() {
            return operations.size();
        }

        public void answer(int status, String json) {
            byte[] bytes = json.getBytes(UTF_8);
            if (status >= 300) {
                listener.refused(bulk, status, BulkAnswer.readError(bytes));
                return;
            }
            BulkAnswer answer;
            try {
                answer = BulkAnswer.read(bytes, bulk.index(), operations, checks);
            } catch (IOException unreadable) {
                listener.unanswered(bulk, unreadable);
                return;
            }
            listener.answered(bulk, answer);
        }

        /** All items are stored. */
        public void succeed() {
            answer(
                    200,
                    operations.stream()
                            .map(operation -> itemOf(operation, "\"status\":201"))
                            .collect(Collectors.joining(",", "{\"items\":[", "]}")));
        }

        public void fail(Exception cause) {
            listener.unanswered(bulk, cause);
        }
    }
}
