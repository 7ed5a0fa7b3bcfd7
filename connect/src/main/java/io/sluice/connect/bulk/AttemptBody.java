package io.sluice.connect.bulk;

import java.util.Set;
import org.apache.hc.core5.http.nio.AsyncEntityProducer;

/**
 * The body of one attempt at a bulk request. The client gets another one for the next attempt: while one attempt is being
 * torn down on one thread, the next is already being written on another.
 */
abstract class AttemptBody implements AsyncEntityProducer {
    @Override
    public final boolean isRepeatable() {
        return false;
    }

    /** More than nothing until the end: the connection asks again whenever it can take more. */
    @Override
    public final int available() {
        return Integer.MAX_VALUE;
    }

    @Override
    public final String getContentType() {
        return "application/x-ndjson";
    }

    @Override
    public final Set<String> getTrailerNames() {
        return Set.of();
    }

    @Override
    public final void failed(Exception cause) {
        releaseResources();
    }
}
