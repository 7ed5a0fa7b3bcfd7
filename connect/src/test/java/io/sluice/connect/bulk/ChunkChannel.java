package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.hc.core5.http.Header;
import org.apache.hc.core5.http.nio.DataStreamChannel;

/** A connection that takes so many bytes and no more at each call, and nothing at every other call. */
final class ChunkChannel implements DataStreamChannel {
    final ByteArrayOutputStream taken = new ByteArrayOutputStream();
    private final int chunk;
    private boolean takes;
    private boolean completed;
    /** Whether it did not take all of what was written; to write again before it asks would keep the I/O thread busy. */
    boolean hasRefused;

    ChunkChannel(int chunk) {
        this.chunk = chunk;
    }

    @Override
    public int write(ByteBuffer source) {
        assertFalse(hasRefused, "written to though it takes nothing");
        takes = !takes;
        int count = takes ? Math.min(chunk, source.remaining()) : 0;
        byte[] bytes = new byte[count];
        source.get(bytes);
        taken.write(bytes, 0, count);
        hasRefused = source.hasRemaining();
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

    boolean isCompleted() {
        return completed;
    }
}
