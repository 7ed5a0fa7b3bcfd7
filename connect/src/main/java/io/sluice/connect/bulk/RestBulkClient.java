package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.sluice.connect.cluster.ClusterClient;
import io.sluice.connect.config.SinkConfig;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import org.apache.http.HttpStatus;
import org.elasticsearch.client.Request;
import org.elasticsearch.client.Response;
import org.elasticsearch.client.ResponseException;
import org.elasticsearch.client.ResponseListener;
import org.elasticsearch.client.RestClient;

/** Bulk requests through Elastic's low-level client. */
public final class RestBulkClient implements BulkClient {
    private static final String WANTED =
            "errors,error.type,error.reason,items.*.status,items.*.error.type,items.*.error.reason";

    private final RestClient rest;
    private final String hostNames;
    private final boolean mayCreate;
    private final boolean compressed;
    private final String pipeline;

    /** Only of use when Elasticsearch may not create targets. */
    private final Sightings sightings = new Sightings(System::nanoTime);

    /** Bytes beside the records themselves that so many requests take while they are written. */
    public static long writingBytes(boolean compressed, int requests) {
        return compressed ? (long) requests * CompressedBulkBody.HELD_BYTES : BulkBody.GATHERED_BYTES;
    }

    public RestBulkClient(SinkConfig config) {
        hostNames = config.connection().hostNames();
        rest = ClusterClient.open(config);
        mayCreate = config.targets().autoCreate();
        pipeline = config.documents().pipeline();
        compressed = config.connection().compressed();
    }

    @Override
    public void send(Bulk bulk, Listener listener) {
        if (mayCreate || sightings.areFreshOf(bulk.index())) {
            sendBulk(bulk, listener);
        } else {
            rest.performRequestAsync(new Request("HEAD", path(bulk)), new Presence(bulk, listener));
        }
    }

    private static String path(Bulk bulk) {
        return "/" + URLEncoder.encode(bulk.index(), UTF_8);
    }

    private void sendBulk(Bulk bulk, Listener listener) {
        Request request = new Request("POST", path(bulk) + "/_bulk");
        request.addParameter("filter_path", WANTED);
        if (!pipeline.isEmpty()) {
            request.addParameter("pipeline", pipeline);
        }
        request.setEntity(
                compressed
                        ? new CompressedBulkBody(bulk.operations())
                        : new BulkBody(bulk.operations(), bulk.bodyBytes()));
        rest.performRequestAsync(request, new Answers(bulk, listener));
    }

    @Override
    public boolean isRunning() {
        return rest.isRunning();
    }

    @Override
    public void close() {
        try {
            rest.close();
        } catch (IOException error) {
            throw new UncheckedIOException("cannot close the connections to Elasticsearch", error);
        }
    }

    /** Hears whether the target exists; sends the request if it does, refuses it if not. */
    private final class Presence implements ResponseListener {
        private final Bulk bulk;
        private final Answers answers;

        Presence(Bulk bulk, Listener listener) {
            this.bulk = bulk;
            this.answers = new Answers(bulk, listener);
        }

        @Override
        public void onSuccess(Response response) {
            if (response.getStatusLine().getStatusCode() == HttpStatus.SC_NOT_FOUND) {
                String reason = "no index, alias or data stream has this name, and auto.create is false";
                answers.listener()
                        .refused(bulk, HttpStatus.SC_NOT_FOUND, new ItemError("index_not_found_exception", reason));
            } else {
                sightings.add(bulk.index());
                sendBulk(bulk, answers.listener());
            }
        }

        @Override
        public void onFailure(Exception failure) {
            answers.onFailure(failure);
        }
    }

    private final class Answers implements ResponseListener {
        private final Bulk bulk;
        private final Listener listener;

        Answers(Bulk bulk, Listener listener) {
            this.bulk = bulk;
            this.listener = listener;
        }

        Listener listener() {
            return listener;
        }

        @Override
        public void onSuccess(Response response) {
            bulk.setHost(response.getHost().toHostString());
            BulkAnswer answer;
            try {
                answer = BulkAnswer.read(bodyOf(response), bulk.size());
            } catch (JsonProcessingException notJson) {
                // The cause is left out: its message may quote the answer, and that a document.
                listener.unanswered(bulk, new IOException("the answer is no valid JSON"));
                return;
            } catch (IOException unreadable) {
                listener.unanswered(bulk, unreadable);
                return;
            }
            listener.answered(bulk, answer);
        }

        /** A proxy may answer 204, which has no body. */
        private static InputStream bodyOf(Response response) throws IOException {
            if (response.getEntity() == null) {
                throw new IOException("the answer has no body");
            }
            return response.getEntity().getContent();
        }

        @Override
        public void onFailure(Exception failure) {
            if (failure instanceof ResponseException refusal) {
                Response response = refusal.getResponse();
                bulk.setHost(response.getHost().toHostString());
                listener.refused(bulk, response.getStatusLine().getStatusCode(), errorOf(response));
            } else {
                bulk.setHost(hostNames);
                listener.unanswered(bulk, failure);
            }
        }

        private ItemError errorOf(Response response) {
            try {
                return response.getEntity() == null
                        ? ItemError.UNKNOWN
                        : BulkAnswer.readError(response.getEntity().getContent());
            } catch (IOException unreadable) {
                return ItemError.UNKNOWN;
            }
        }
    }
}
