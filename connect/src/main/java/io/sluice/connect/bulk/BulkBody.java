package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.http.entity.AbstractHttpEntity;
import org.apache.http.nio.ContentEncoder;
import org.apache.http.nio.IOControl;
import org.apache.http.nio.entity.HttpAsyncContentProducer;

/**
 * The body of a bulk request, written from the operations' own arrays: no copy of the whole is ever made.
 *
 * <p>Whenever the connection takes bytes, the next ones are gathered in a small buffer of the I/O thread. What was not
 * taken is gathered again the next time, so that a body needs no buffer of its own while it waits.
 */
final class BulkBody extends AbstractHttpEntity implements HttpAsyncContentProducer {
    private static final int GATHERED_BYTES = 64 << 10;
    private static final ThreadLocal<ByteBuffer> GATHERED =
            ThreadLocal.withInitial(() -> ByteBuffer.allocateDirect(GATHERED_BYTES));

    private final List<Operation> operations;
    private final long length;
    private int operation;
    private int line;
    private int written;

    BulkBody(List<Operation> operations, long length) {
        this.operations = operations;
        this.length = length;
        setContentType("application/x-ndjson");
    }

    @Override
    public void produceContent(ContentEncoder encoder, IOControl control) throws IOException {
        ByteBuffer gathered = GATHERED.get();
        boolean taken = true;
        while (taken && operation < operations.size()) {
            gather(gathered.clear());
            gathered.flip();
            int count = encoder.write(gathered);
            taken = !gathered.hasRemaining();
            advance(count);
        }
        if (operation == operations.size()) {
            encoder.complete();
        }
    }

    /** Fills the buffer with what comes next, without moving on. */
    private void gather(ByteBuffer buffer) {
        int fromLine = line;
        int from = written;
        for (int i = operation; i < operations.size(); i++) {
            Operation next = operations.get(i);
            for (int l = fromLine; l < next.lines(); l++) {
                byte[] bytes = next.line(l);
                int count = Math.min(bytes.length - from, buffer.remaining());
                buffer.put(bytes, from, count);
                if (!buffer.hasRemaining()) {
                    return;
                }
                buffer.put((byte) '\n');
                from = 0;
            }
            fromLine = 0;
        }
    }

    private void advance(int count) {
        int left = count;
        while (left > 0) {
            Operation current = operations.get(operation);
            int rest = current.line(line).length + 1 - written;
            if (left < rest) {
                written += left;
                return;
            }
            left -= rest;
            written = 0;
            if (++line == current.lines()) {
                line = 0;
                operation++;
            }
        }
    }

    /** Called when an attempt is over: the next one starts at the beginning. */
    @Override
    public void close() {
        operation = 0;
        line = 0;
        written = 0;
    }

    @Override
    public boolean isRepeatable() {
        return true;
    }

    @Override
    public long getContentLength() {
        return length;
    }

    @Override
    public boolean isStreaming() {
        return false;
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
        for (Operation each : operations) {
            for (int l = 0; l < each.lines(); l++) {
                out.write(each.line(l));
                out.write('\n');
            }
        }
    }

    @Override
    public InputStream getContent() throws IOException {
        ByteArrayOutputStream whole = new ByteArrayOutputStream((int) length);
        writeTo(whole);
        return new ByteArrayInputStream(whole.toByteArray());
    }
}
