package io.sluice.connect;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** Reads with pauses, none of them as long as a client's timeout. */
final class SlowInput extends FilterInputStream {
    private static final int MOST_PAUSES = 20;
    private static final int PAUSE_MS = 5;

    private final PlayedCluster cluster;
    private int pauses;

    SlowInput(InputStream in, PlayedCluster cluster) {
        super(in);
        this.cluster = cluster;
    }

    @Override
    public int read(byte[] bytes, int from, int length) throws IOException {
        if (pauses++ < MOST_PAUSES) {
            cluster.sleep(PAUSE_MS);
        }
        return super.read(bytes, from, length);
    }
}
