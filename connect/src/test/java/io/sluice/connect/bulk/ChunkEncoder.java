package io.sluice.connect.bulk;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import org.apache.http.nio.ContentEncoder;

/** A connection that takes so many bytes and no more at each call, and nothing at every other call. */
final class ChunkEncoder implements ContentEncoder {
    final ByteArrayOutputStream taken = new ByteArrayOutputStream();
    private final int chunk;
    private boolean takes;
    private boolean completed;

    ChunkEncoder(int chunk) {
        this.chunk = chunk;
    }

    @Override
    public int write(ByteBuffer source) {
        takes = !takes;
        int count = takes ? Math.min(chunk, source.remaining()) : 0;
        byte[] bytes = new byte[count];
        source.get(bytes);
        taken.write(bytes, 0, count);
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
