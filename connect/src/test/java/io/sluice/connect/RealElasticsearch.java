package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests against the server that SLUICE_TEST_ELASTICSEARCH_URL names; an index called sluice-it is made anew for each. */
@ExtendWith(LogSafety.class)
public abstract class RealElasticsearch {
    protected static final String URL = System.getenv("SLUICE_TEST_ELASTICSEARCH_URL");
    static final String INDEX = "sluice-it";
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    @BeforeEach
    void makeIndex() throws IOException, InterruptedException {
        ask("DELETE", "/" + INDEX, null);
        ask(
                "PUT",
                "/" + INDEX,
                "{\"mappings\":{\"properties\":{\"price\":{\"type\":\"integer\"}}},"
                        + "\"settings\":{\"number_of_replicas\":0}}");
    }

    protected static String ask(String method, String path, String body) throws IOException, InterruptedException {
        HttpRequest.BodyPublisher publisher =
                body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body, UTF_8);
        HttpRequest request = HttpRequest.newBuilder(URI.create(URL + path))
                .header("Content-Type", "application/json")
                .method(method, publisher)
                .build();
        return HTTP.send(request, HttpResponse.BodyHandlers.ofString()).body();
    }

    static long count() throws IOException, InterruptedException {
        ask("POST", "/" + INDEX + "/_refresh", null);
        String answer = ask("GET", "/" + INDEX + "/_count?filter_path=count", null);
        return Long.parseLong(answer.replaceAll("\\D", ""));
    }

    static TaskHarness harness(String... more) {
        return new TaskHarness(URL, TaskHarness.settings(Map.of("index.name", INDEX), more));
    }
}
