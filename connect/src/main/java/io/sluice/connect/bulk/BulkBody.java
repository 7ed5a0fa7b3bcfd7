package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.sluice.connect.encode.Operation;
import java.io.ByteArrayInputStream;
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
    static final int GATHERED_BYTES = 64 << 10;
    private static final ThreadLocal<ByteBuffer> GATHERED =
            ThreadLocal.withInitial(() -> ByteBuffer.allocateDirect(GATHERED_BYTES));

    private final List<Operation> operations;
    private final long length;
    private final OperationLines lines;

    BulkBody(List<Operation> operations, long length) {
        this.operations = operations;
        this.length = length;
        this.lines = new OperationLines(operations);
        setContentType("application/x-ndjson");
    }

    @Override
    public void produceContent(ContentEncoder encoder, IOControl control) throws IOException {
        ByteBuffer gathered = GATHERED.get();
        boolean taken = true;
        while (taken && !lines.isAtEnd()) {
            lines.gather(gathered.clear());
            gathered.flip();
            int count = encoder.write(gathered);
            taken = !gathered.hasRemaining();
            lines.advance(count);
        }
        if (lines.isAtEnd()) {
            encoder.complete();
        }
    }

    /** Called when an attempt is over: the next one starts at the beginning. */
    @Override
    public void close() {
        lines.rewind();
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

    /** The client writes what {@link #produceContent} gives; this is for its log, which no document may get into. */
    @Override
    public void writeTo(OutputStream out) throws IOException {
        getContent().transferTo(out);
    }

    @Override
    public InputStream getContent() {
        return placeholder(operations);
    }

    /** What stands for a body where it is not sent, but shown. */
    static InputStream placeholder(List<Operation> operations) {
        return new ByteArrayInputStream(("(bulk body of " + operations.size() + " operations)").getBytes(US_ASCII));
    }
}
