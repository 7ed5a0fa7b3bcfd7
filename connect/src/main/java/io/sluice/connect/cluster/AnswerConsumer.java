package io.sluice.connect.cluster;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hc.client5.http.async.methods.AbstractBinResponseConsumer;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.Header;
import org.apache.hc.core5.http.HttpHeaders;
import org.apache.hc.core5.http.HttpResponse;
import org.apache.hc.core5.util.ByteArrayBuffer;

/** Takes an answer as it comes and holds it, up to a bound that no answer to a bulk request reaches. */
final class AnswerConsumer extends AbstractBinResponseConsumer<Answer> {
    static final int MOST_BYTES = 100 << 20;
    private static final int FIRST_BYTES = 8 << 10;

    private final String node;
    private final ByteArrayBuffer body = new ByteArrayBuffer(FIRST_BYTES);
    private int status;
    private boolean isPacked;

    AnswerConsumer(String node) {
        this.node = node;
    }

    @Override
    protected void start(HttpResponse response, ContentType type) {
        status = response.getCode();
        Header encoding = response.getFirstHeader(HttpHeaders.CONTENT_ENCODING);
        isPacked = encoding != null && encoding.getValue().equalsIgnoreCase("gzip");
    }

    @Override
    protected int capacityIncrement() {
        return Integer.MAX_VALUE;
    }

    @Override
    protected void data(ByteBuffer bytes, boolean isLast) throws IOException {
        if (body.length() + bytes.remaining() > MOST_BYTES) {
            throw new IOException("the answer is larger than " + MOST_BYTES + " bytes");
        }
        body.append(bytes);
    }

    @Override
    protected Answer buildResult() {
        return new Answer(node, status, body.toByteArray(), isPacked);
    }

    @Override
    public void releaseResources() {
        // The heap is all that it holds.
    }
}
