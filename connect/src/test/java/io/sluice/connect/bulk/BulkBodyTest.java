package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import java.util.zip.GZIPInputStream;
import org.apache.http.HttpEntity;
import org.apache.http.nio.ContentEncoder;
import org.apache.http.nio.entity.HttpAsyncContentProducer;
import org.apache.http.util.EntityUtils;
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
        BulkBody body = new BulkBody(bulk.operations(), bulk.bodyBytes());
        assertEquals(expected.toString().getBytes(UTF_8).length, body.getContentLength());
        for (int chunk : new int[] {1, 2, 61, 4_093, 65_536, 1_000_003}) {
            ChunkEncoder encoder = new ChunkEncoder(chunk);
            produce(body, encoder);
            assertEquals(expected.toString(), encoder.taken.toString(UTF_8));
        }
    }

    /** A compressed body is gzip of the same lines, whatever the chunks and however often it is begun. */
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
        ChunkEncoder plain = new ChunkEncoder(1_000_003);
        produce(new BulkBody(bulk.operations(), bulk.bodyBytes()), plain);
        CompressedBulkBody body = new CompressedBulkBody(bulk.operations());
        body.produceContent(new ChunkEncoder(997), null);
        body.close();
        for (int chunk : new int[] {1, 61, 65_536, 1_000_003}) {
            ChunkEncoder encoder = new ChunkEncoder(chunk);
            produce(body, encoder);
            byte[] unpacked = new GZIPInputStream(new ByteArrayInputStream(encoder.taken.toByteArray())).readAllBytes();
            assertEquals(plain.taken.toString(UTF_8), new String(unpacked, UTF_8));
        }
    }

    /** Who shows a body, as the client's log does, sees how many operations it holds and nothing of them. */
    @Test
    void aBodyThatIsShownHoldsNoDocument() throws IOException {
        BulkWriter writer = writer(11, 1 << 20, 5, false);
        for (int i = 0; i < 11; i++) {
            add(writer, operation("k" + i, "{}"));
        }
        Bulk bulk = client.sent.get(0);
        List<HttpEntity> bodies =
                List.of(new BulkBody(bulk.operations(), bulk.bodyBytes()), new CompressedBulkBody(bulk.operations()));
        for (HttpEntity body : bodies) {
            ByteArrayOutputStream written = new ByteArrayOutputStream();
            body.writeTo(written);
            assertEquals("(bulk body of 11 operations)", written.toString(UTF_8));
            assertEquals("(bulk body of 11 operations)", EntityUtils.toString(body));
        }
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
            NullEncoder encoder = new NullEncoder();
            HttpAsyncContentProducer body = compressed
                    ? new CompressedBulkBody(bulk.operations())
                    : new BulkBody(bulk.operations(), bulk.bodyBytes());
            long before = threads.getCurrentThreadAllocatedBytes();
            produce(body, encoder);
            long allocated = threads.getCurrentThreadAllocatedBytes() - before;
            long stated = RestBulkClient.writingBytes(compressed, 1);
            assertTrue(allocated <= stated, "compressed " + compressed + ": " + allocated + " bytes");
        }
    }

    private static void produce(HttpAsyncContentProducer body, ContentEncoder encoder) throws IOException {
        while (!encoder.isCompleted()) {
            if (encoder instanceof ChunkEncoder chunks) {
                chunks.hasRefused = false;
            }
            body.produceContent(encoder, null);
        }
        body.close();
    }

    /** Takes everything, keeps nothing. */
    private static final class NullEncoder implements ContentEncoder {
        private boolean completed;

        @Override
        public int write(ByteBuffer source) {
            int count = source.remaining();
            source.position(source.limit());
            return count;
        }

        @Override
        public void complete() {
            completed = true;
        }

        @Override
        public boolean isCompleted() {
            return completed;
        }
    }

    /** Elasticsearch and the client are told what a body is: newline-delimited JSON of known length, or in gzip and chunks. */
    @Test
    void bodiesSayWhatTheyAre() {
        sendThree();
        Bulk bulk = client.sent.get(0);
        BulkBody plain = new BulkBody(bulk.operations(), bulk.bodyBytes());
        CompressedBulkBody compressed = new CompressedBulkBody(bulk.operations());
        for (HttpEntity body : List.of(plain, compressed)) {
            assertEquals("application/x-ndjson", body.getContentType().getValue());
            assertTrue(body.isRepeatable() && !body.isStreaming());
        }
        assertEquals(bulk.bodyBytes(), plain.getContentLength());
        assertTrue(plain.getContentEncoding() == null && !plain.isChunked());
        assertEquals("gzip", compressed.getContentEncoding().getValue());
        assertTrue(compressed.getContentLength() == -1 && compressed.isChunked());
    }
}
