package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import java.util.zip.GZIPInputStream;
import org.apache.hc.core5.http.Header;
import org.apache.hc.core5.http.nio.DataStreamChannel;
import org.junit.jupiter.api.Test;

/** The body of a request, plain and compressed. */
class BulkBodyTest extends WriterWorld {
    /** The body holds the lines of its operations, whatever the chunks in which the connection takes it. */
    @Test
    void theBodyIsTheSameWhateverTheChunks() throws IOException {
        BulkWriter writer = writer(11, 1 << 20, 5, false);
        StringBuilder expected = new StringBuilder();
        for (int i = 0; i < 11; i++) {
            boolean isDelete = i == 7;
            String value = isDelete ? null : "{\"a\":\"" + "x".repeat(i * 2_003) + "\"}";
            expected.append(isDelete ? "{\"delete" : "{\"index")
                    .append("\":{\"_id\":\"k\\\"")
                    .append(i)
                    .append("\",\"version_type\":\"external\",\"version\":")
                    .append(i)
                    .append("}}\n")
                    .append(isDelete ? "" : value + "\n");
            add(writer, operation("k\"" + i, value));
        }
        Bulk bulk = client.sent.get(0);
        for (int chunk : new int[] {1, 2, 61, 4_093, 65_536, 1_000_003}) {
            BulkBody body = new BulkBody(bulk.operations(), bulk.bodyBytes());
            assertEquals(expected.toString().getBytes(UTF_8).length, body.getContentLength());
            ChunkChannel channel = new ChunkChannel(chunk);
            produce(body, channel);
            assertEquals(expected.toString(), channel.taken.toString(UTF_8));
        }
    }

    /** A compressed body is gzip of the same lines, whatever the chunks. */
    @Test
    void aCompressedBodyHoldsTheSameLines() throws IOException {
        BulkWriter writer = writer(7, 1 << 20, 5, false);
        Random random = new Random(7);
        for (int i = 0; i < 7; i++) {
            StringBuilder value = new StringBuilder("{\"a\":\"");
            random.ints(i * 10_007, 'a', 'z' + 1).forEach(c -> value.append((char) c));
            add(writer, operation("k" + i, value.append("\"}").toString()));
        }
        Bulk bulk = client.sent.get(0);
        ChunkChannel plain = new ChunkChannel(1_000_003);
        produce(new BulkBody(bulk.operations(), bulk.bodyBytes()), plain);
        for (int chunk : new int[] {1, 61, 65_536, 1_000_003}) {
            ChunkChannel channel = new ChunkChannel(chunk);
            produce(new CompressedBulkBody(bulk.operations()), channel);
            byte[] unpacked = new GZIPInputStream(new ByteArrayInputStream(channel.taken.toByteArray())).readAllBytes();
            assertEquals(plain.taken.toString(UTF_8), new String(unpacked, UTF_8));
        }
    }

    /** An attempt that is revoked while another thread writes it ends in an error, and takes nothing of the next one. */
    @Test
    void attemptsHaveNothingInCommon() throws IOException {
        BulkWriter writer = writer(11, 1 << 20, 5, false);
        for (int i = 0; i < 11; i++) {
            add(writer, operation("k" + i, "{\"a\":\"" + "x".repeat(1_009) + "\"}"));
        }
        Bulk bulk = client.sent.get(0);
        for (boolean compressed : new boolean[] {false, true}) {
            AttemptBody first = body(bulk, compressed);
            AttemptBody second = body(bulk, compressed);
            ChunkChannel begun = new ChunkChannel(7);
            second.produce(begun);
            first.produce(new ChunkChannel(61));
            first.failed(new IOException("reset"));
            first.releaseResources();
            produce(second, begun);
            ChunkChannel alone = new ChunkChannel(1_000_003);
            produce(body(bulk, compressed), alone);
            assertEquals(alone.taken.toString(UTF_8), begun.taken.toString(UTF_8), "compressed " + compressed);
        }
        CompressedBulkBody released = new CompressedBulkBody(bulk.operations());
        released.releaseResources();
        assertThrows(IOException.class, () -> released.produce(new ChunkChannel(7)));
    }

    private static AttemptBody body(Bulk bulk, boolean compressed) {
        return compressed
                ? new CompressedBulkBody(bulk.operations())
                : new BulkBody(bulk.operations(), bulk.bodyBytes());
    }

    /** Writing bodies of 1 MB documents, plain or compressed, takes no more heap than the start line says. */
    @Test
    void bodiesOfLargeDocumentsTakeNoHeapOfTheirOwn() throws IOException {
        BulkWriter writer = writer(16, 1 << 30, 5, false);
        String large = "{\"a\":\"" + "x".repeat(1_000_003) + "\"}";
        for (int i = 0; i < 16; i++) {
            add(writer, operation("k" + i, large));
        }
        Bulk bulk = client.sent.get(0);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (boolean compressed : new boolean[] {false, true, false, true}) {
            NullChannel channel = new NullChannel();
            AttemptBody body = body(bulk, compressed);
            long before = threads.getCurrentThreadAllocatedBytes();
            while (!channel.completed) {
                body.produce(channel);
            }
            body.releaseResources();
            long allocated = threads.getCurrentThreadAllocatedBytes() - before;
            long stated = RestBulkClient.writingBytes(compressed, 1);
            assertTrue(allocated <= stated, "compressed " + compressed + ": " + allocated + " bytes");
        }
    }

    private static void produce(AttemptBody body, ChunkChannel channel) throws IOException {
        while (!channel.isCompleted()) {
            channel.hasRefused = false;
            body.produce(channel);
        }
        body.releaseResources();
    }

    /** Takes everything, keeps nothing. */
    private static final class NullChannel implements DataStreamChannel {
        private boolean completed;

        @Override
        public int write(ByteBuffer source) {
            int count = source.remaining();
            source.position(source.limit());
            return count;
        }

        @Override
        public void requestOutput() {
            throw new AssertionError("it asks by itself");
        }

        @Override
        public void endStream() {
            completed = true;
        }

        @Override
        public void endStream(List<? extends Header> trailers) {
            endStream();
        }
    }

    /** Elasticsearch and the client are told what a body is: newline-delimited JSON of known length, or in gzip and chunks. */
    @Test
    void bodiesSayWhatTheyAre() {
        sendThree();
        Bulk bulk = client.sent.get(0);
        BulkBody plain = new BulkBody(bulk.operations(), bulk.bodyBytes());
        CompressedBulkBody compressed = new CompressedBulkBody(bulk.operations());
        for (AttemptBody body : List.of(plain, compressed)) {
            assertEquals("application/x-ndjson", body.getContentType());
            assertFalse(body.isRepeatable(), "the client must not send a body twice");
        }
        assertEquals(bulk.bodyBytes(), plain.getContentLength());
        assertTrue(plain.getContentEncoding() == null && !plain.isChunked());
        assertEquals("gzip", compressed.getContentEncoding());
        assertTrue(compressed.getContentLength() == -1 && compressed.isChunked());
    }
}
