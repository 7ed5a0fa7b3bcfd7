package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.encode.Operation;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.function.Consumer;

/** Takes requests to a server that is played in the same thread; reads the answers as the real client does. */
public final class Wire implements BulkClient {
    private final Consumer<Exchange> server;

    public Wire(Consumer<Exchange> server) {
        this.server = server;
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
    public boolean isRunning() {
        return true;
    }

    @Override
    public void close() {
        // Nothing is open.
    }

    /** One request, to be answered once. */
    public static final class Exchange {
        private final Bulk bulk;
        private final Listener listener;
        private final String body;
        private final int items;

        private Exchange(Bulk bulk, Listener listener, String body) {
            this.bulk = bulk;
            this.listener = listener;
            this.body = body;
            this.items = bulk.size();
        }

        public String index() {
            return bulk.index();
        }

        public String body() {
            return body;
        }

        public int items() {
            return items;
        }

        public void answer(int status, String json) {
            ByteArrayInputStream bytes = new ByteArrayInputStream(json.getBytes(UTF_8));
            if (status >= 300) {
                listener.refused(bulk, status, BulkAnswer.readError(bytes));
                return;
            }
            BulkAnswer answer;
            try {
                answer = BulkAnswer.read(bytes, items);
            } catch (IOException unreadable) {
                listener.unanswered(bulk, unreadable);
                return;
            }
            listener.answered(bulk, answer);
        }

        public void fail(Exception cause) {
            listener.unanswered(bulk, cause);
        }
    }
}
