package io.sluice.connect.cluster;

import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.nio.AsyncEntityProducer;
import org.apache.hc.core5.http.nio.entity.BasicAsyncEntityProducer;

/**
 * One request to whichever node.
 *
 * @param path with the query, without the path of a node's URL
 * @param body makes the body anew for each attempt, {@code null} where there is none
 */
public record ClusterRequest(String method, String path, Supplier<AsyncEntityProducer> body) {
    public ClusterRequest(String method, String path) {
        this(method, path, null);
    }

    static ClusterRequest ofJson(String method, String path, String json) {
        return new ClusterRequest(
                method,
                path,
                () -> new BasicAsyncEntityProducer(
                        json.getBytes(StandardCharsets.UTF_8), ContentType.APPLICATION_JSON));
    }
}
