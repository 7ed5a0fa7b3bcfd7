package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import org.apache.http.nio.ContentEncoder;

/** A connection that takes so many bytes and no more at each call, and nothing at every other call. */
final class ChunkEncoder implements ContentEncoder {
    final ByteArrayOutputStream taken = new ByteArrayOutputStream();
    private final int chunk;
    private boolean takes;
    private boolean completed;
    /** Whether it did not take all of what was written; to write again before it asks would keep the I/O thread busy. */
    boolean hasRefused;

    ChunkEncoder(int chunk) {
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
    public void complete() {
        completed = true;
    }

    @Override
    public boolean isCompleted() {
        return completed;
    }
}
