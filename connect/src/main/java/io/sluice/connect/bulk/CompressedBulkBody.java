package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import org.apache.http.entity.AbstractHttpEntity;
import org.apache.http.nio.ContentEncoder;
import org.apache.http.nio.IOControl;
import org.apache.http.nio.entity.HttpAsyncContentProducer;

/**
 * The body of a bulk request in gzip (RFC 1952), compressed while the connection takes it.
 *
 * <p>Neither the plain nor the compressed whole is ever held: {@link #HELD_BYTES} for each request that is being
 * written, whatever its size.
 */
final class CompressedBulkBody extends AbstractHttpEntity implements HttpAsyncContentProducer {
    private static final int PLAIN_BYTES = 16 << 10;
    private static final int PACKED_BYTES = 16 << 10;

    /** What zlib says it takes with its default window and memory level. */
    private static final int DEFLATER_BYTES = 268 << 10;

    /** Memory for one request that is being written. */
    static final int HELD_BYTES = PLAIN_BYTES + PACKED_BYTES + DEFLATER_BYTES;

    /** Fast: a bulk request is compressed on the one thread that also sends. */
    private static final int LEVEL = Deflater.BEST_SPEED;

    private static final byte[] HEADER = {0x1f, (byte) 0x8b, Deflater.DEFLATED, 0, 0, 0, 0, 0, 4, (byte) 0xff};
    private static final int TRAILER_BYTES = 8;

    private final List<Operation> operations;
    private final OperationLines lines;
    private Attempt attempt;

    CompressedBulkBody(List<Operation> operations) {
        this.operations = operations;
        this.lines = new OperationLines(operations);
        setContentType("application/x-ndjson");
        setContentEncoding("gzip");
        setChunked(true);
    }

    /** What one attempt to send the body needs. */
    private static final class Attempt {
        private final Deflater deflater = new Deflater(LEVEL, true);
        private final CRC32 checksum = new CRC32();
        private final ByteBuffer plain = ByteBuffer.allocate(PLAIN_BYTES);
        private final ByteBuffer packed =
                ByteBuffer.allocate(PACKED_BYTES).order(ByteOrder.LITTLE_ENDIAN).put(HEADER);
        private boolean ended;
    }

    @Override
    public void produceContent(ContentEncoder encoder, IOControl control) throws IOException {
        if (attempt == null) {
            attempt = new Attempt();
        }
        boolean taken = true;
        while (taken && !encoder.isCompleted()) {
            pack();
            ByteBuffer packed = attempt.packed;
            packed.flip();
            encoder.write(packed);
            taken = !packed.hasRemaining();
            packed.compact();
            if (taken && attempt.ended) {
                encoder.complete();
            }
        }
    }

    /** Fills the packed buffer as far as there is anything to pack. */
    private void pack() {
        Deflater deflater = attempt.deflater;
        while (!attempt.ended && attempt.packed.remaining() > TRAILER_BYTES) {
            if (deflater.finished()) {
                attempt.packed.putInt((int) attempt.checksum.getValue()).putInt((int) deflater.getBytesRead());
                attempt.ended = true;
            } else if (deflater.needsInput() && !lines.isAtEnd()) {
                feed(deflater);
            } else {
                if (lines.isAtEnd()) {
                    deflater.finish();
                }
                deflater.deflate(attempt.packed);
            }
        }
    }

    private void feed(Deflater deflater) {
        ByteBuffer plain = attempt.plain;
        lines.gather(plain.clear());
        lines.advance(plain.position());
        attempt.checksum.update(plain.array(), 0, plain.position());
        deflater.setInput(plain.array(), 0, plain.position());
    }

    /** Called when an attempt is over: the next one starts at the beginning. */
    @Override
    public void close() {
        if (attempt != null) {
            attempt.deflater.end();
            attempt = null;
        }
        lines.rewind();
    }

    @Override
    public boolean isRepeatable() {
        return true;
    }

    @Override
    public boolean isStreaming() {
        return false;
    }

    /** Unknown before it is compressed. */
    @Override
    public long getContentLength() {
        return -1;
    }

    /** As for the plain body: for the client's log only. */
    @Override
    public InputStream getContent() {
        return BulkBody.placeholder(operations);
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
        getContent().transferTo(out);
    }
}
