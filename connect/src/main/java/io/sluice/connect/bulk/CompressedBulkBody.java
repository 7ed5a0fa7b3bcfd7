package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import org.apache.hc.core5.http.nio.DataStreamChannel;

/**
 * The body of one attempt at a bulk request in gzip (RFC 1952), compressed while the connection takes it.
 *
 * <p>Neither the plain nor the compressed whole is ever held: {@link #HELD_BYTES} for each request that is being
 * written, whatever its size. Guarded, since an attempt may be revoked on another thread than the one that writes.
 */
final class CompressedBulkBody extends AttemptBody {
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

    private final OperationLines lines;
    private Packing packing;
    private boolean isReleased;

    CompressedBulkBody(List<Operation> operations) {
        this.lines = new OperationLines(operations);
    }

    /** What is held from the first byte to the last. */
    private static final class Packing {
        private final Deflater deflater = new Deflater(LEVEL, true);
        private final CRC32 checksum = new CRC32();
        private final ByteBuffer plain = ByteBuffer.allocate(PLAIN_BYTES);
        private final ByteBuffer packed =
                ByteBuffer.allocate(PACKED_BYTES).order(ByteOrder.LITTLE_ENDIAN).put(HEADER);
        private boolean ended;
    }

    @Override
    public synchronized void produce(DataStreamChannel channel) throws IOException {
        if (isReleased) {
            throw new IOException("the attempt is over");
        }
        if (packing == null) {
            packing = new Packing();
        }
        ByteBuffer packed = packing.packed;
        boolean taken = true;
        while (taken) {
            pack();
            packed.flip();
            channel.write(packed);
            taken = !packed.hasRemaining();
            packed.compact();
            if (taken && packing.ended) {
                channel.endStream();
                return;
            }
        }
    }

    /** Fills the packed buffer as far as there is anything to pack. */
    private void pack() {
        Deflater deflater = packing.deflater;
        while (!packing.ended && packing.packed.remaining() > TRAILER_BYTES) {
            if (deflater.finished()) {
                packing.packed.putInt((int) packing.checksum.getValue()).putInt((int) deflater.getBytesRead());
                packing.ended = true;
            } else if (deflater.needsInput() && !lines.isAtEnd()) {
                feed(deflater);
            } else {
                if (lines.isAtEnd()) {
                    deflater.finish();
                }
                deflater.deflate(packing.packed);
            }
        }
    }

    private void feed(Deflater deflater) {
        ByteBuffer plain = packing.plain;
        lines.gather(plain.clear());
        lines.advance(plain.position());
        packing.checksum.update(plain.array(), 0, plain.position());
        deflater.setInput(plain.array(), 0, plain.position());
    }

    @Override
    public synchronized void releaseResources() {
        isReleased = true;
        if (packing != null) {
            packing.deflater.end();
            packing = null;
        }
    }

    /** Unknown before it is compressed. */
    @Override
    public long getContentLength() {
        return -1;
    }

    @Override
    public String getContentEncoding() {
        return "gzip";
    }

    @Override
    public boolean isChunked() {
        return true;
    }
}
