package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.hc.core5.http.nio.DataStreamChannel;

/**
 * The body of one attempt at a bulk request, written from the operations' own arrays: no copy of the whole is ever made.
 *
 * <p>Whenever the connection takes bytes, the next ones are gathered in a small buffer of the I/O thread. What was not
 * taken is gathered again the next time, so that a body needs no buffer of its own while it waits.
 */
final class BulkBody extends AttemptBody {
    static final int GATHERED_BYTES = 64 << 10;
    private static final ThreadLocal<ByteBuffer> GATHERED =
            ThreadLocal.withInitial(() -> ByteBuffer.allocateDirect(GATHERED_BYTES));

    private final long length;
    private final OperationLines lines;

    BulkBody(List<Operation> operations, long length) {
        this.length = length;
        this.lines = new OperationLines(operations);
    }

    @Override
    public void produce(DataStreamChannel channel) throws IOException {
        ByteBuffer gathered = GATHERED.get();
        boolean taken = true;
        while (taken && !lines.isAtEnd()) {
            lines.gather(gathered.clear());
            gathered.flip();
            int count = channel.write(gathered);
            taken = !gathered.hasRemaining();
            lines.advance(count);
        }
        if (lines.isAtEnd()) {
            channel.endStream();
        }
    }

    @Override
    public long getContentLength() {
        return length;
    }

    @Override
    public String getContentEncoding() {
        return null;
    }

    @Override
    public boolean isChunked() {
        return false;
    }

    @Override
    public void releaseResources() {
        // The operations are all that it holds.
    }
}
