package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The played Elasticsearch answers and stores what the one does that SLUICE_TEST_ELASTICSEARCH_URL names; indices called
 * sluice-played-* are made and removed.
 */
@EnabledIfEnvironmentVariable(named = "SLUICE_TEST_ELASTICSEARCH_URL", matches = "http.*")
class PlayedElasticsearchIT {
    private static final String URL = System.getenv("SLUICE_TEST_ELASTICSEARCH_URL");
    private static final String INDEX = "sluice-played-index";
    private static final String STREAM = "sluice-played-stream";
    private static final String TEMPLATE = "/_index_template/sluice-played-index";
    private static final String STREAM_TEMPLATE = "/_index_template/sluice-played-stream";
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final Pattern CURRENT_VERSION = Pattern.compile("current version \\[\\d+]");

    /** The sink takes no difference between these, and versions of Elasticsearch differ in them. */
    private static final Pattern UNREADABLE = Pattern.compile(
            "(mapper_parsing|document_parsing|(x_content_|json_)?(parse|e_o_f)|parsing"
                    + "|illegal_argument|not_x_content|input_coercion|stream_read|unexpected_end_of_input|class_cast)_exception");

    /** Bulk requests that are sent one after the other to an index that is not there. */
    private record Case(String name, String... bodies) {
        @Override
        public String toString() {
            return name;
        }
    }

    @BeforeEach
    void makeTemplate() throws IOException, InterruptedException {
        ask("DELETE", "/" + INDEX, null);
        assertEquals(200, put(TEMPLATE, INDEX, ""));
    }

    private static int put(String path, String pattern, String more) throws IOException, InterruptedException {
        return ask(
                        "PUT",
                        path,
                        "{\"index_patterns\":[\"" + pattern + "\"],\"priority\":900," + more
                                + "\"template\":{\"settings\":{\"number_of_replicas\":0},"
                                + "\"mappings\":{\"properties\":{\"price\":{\"type\":\"integer\"}}}}}")
                .statusCode();
    }

    @AfterEach
    void removeAll() throws IOException, InterruptedException {
        ask("DELETE", "/" + INDEX, null);
        ask("DELETE", TEMPLATE, null);
    }

    static Stream<Case> cases() {
        return Stream.of(
                new Case("an index without version replaces", index("a", 0, 1) + index("a", 0, 2)),
                new Case("an id is given", "{\"index\":{}}\n{\"n\":1}\n", "{\"create\":{}}\n{\"n\":2}\n"),
                new Case(
                        "the higher version stays",
                        index("a", 5, 1) + index("a", 5, 2) + index("a", 4, 3) + index("a", 6, 4)),
                new Case("a create replaces nothing", create("a", 1) + create("a", 2)),
                new Case("a create follows a delete", create("a", 1) + delete("a", 0) + create("a", 2)),
                new Case(
                        "a delete without version makes no index",
                        delete("a", 0),
                        index("a", 0, 1),
                        delete("b", 0) + delete("a", 0) + delete("a", 0)),
                new Case("a delete beside an index of a missing index", delete("a", 0) + index("b", 0, 1)),
                new Case(
                        "a delete with version makes an index and is remembered",
                        delete("a", 5),
                        index("a", 4, 1) + index("a", 5, 2),
                        index("a", 6, 3)),
                new Case(
                        "a deleted document's version is remembered",
                        index("a", 5, 1) + delete("a", 7) + index("a", 6, 2),
                        index("a", 7, 3),
                        index("a", 8, 4)),
                new Case("an older delete deletes nothing", index("a", 5, 1), delete("a", 4), delete("a", 5)),
                new Case(
                        "deletes follow one another",
                        index("a", 5, 1),
                        delete("a", 6),
                        delete("a", 6),
                        delete("a", 8),
                        index("a", 7, 2)),
                new Case(
                        "version 0 is one",
                        "{\"index\":{\"_id\":\"a\",\"version_type\":\"external\",\"version\":0}}\n" + "{\"n\":1}\n",
                        index("a", 1, 2)),
                new Case("the largest version", index("a", Long.MAX_VALUE, 1), index("a", Long.MAX_VALUE, 2)),
                new Case(
                        "an index without version counts on",
                        index("a", 5, 1),
                        index("a", 0, 2),
                        index("a", 6, 3),
                        index("a", 7, 4)),
                new Case("a negative version spoils the request", index("b", 1, 1) + index("a", -5, 1)),
                new Case(
                        "an upsert makes or merges",
                        update("a", "{\"n\":1,\"x\":1}"),
                        update("a", "{\"n\":2,\"y\":2}")),
                new Case(
                        "an upsert merges objects",
                        update("a", "{\"o\":{\"x\":1,\"p\":{\"q\":1}}}"),
                        update("a", "{\"o\":{\"y\":2,\"p\":{\"r\":2}}}")),
                new Case(
                        "an upsert of the same changes nothing",
                        update("a", "{\"n\":1}"),
                        update("a", "{\"n\":1}"),
                        index("a", 2, 2),
                        index("a", 1, 3)),
                new Case(
                        "an upsert after a delete",
                        update("a", "{\"n\":1,\"x\":1}"),
                        delete("a", 0),
                        update("a", "{\"n\":2}")),
                new Case(
                        "upserts of one document in one request",
                        update("a", "{\"n\":1}") + update("a", "{\"x\":1}") + update("b", "{}")),
                new Case(
                        "an upsert with a key twice spoils the request",
                        update("b", "{\"n\":1}") + update("a", "{\"n\":1,\"n\":2}")),
                new Case(
                        "an upsert that is no JSON spoils the request",
                        update("b", "{\"n\":1}") + update("a", "{\"n\":1")),
                new Case(
                        "an upsert that is no object spoils the request",
                        update("b", "{\"n\":1}") + update("a", "[1]")),
                new Case(
                        "an upsert the mapping refuses",
                        update("a", "{\"n\":1}"),
                        update("a", "{\"price\":\"x\"}")
                                + update("b", "{\"price\":\"x\"}")
                                + update("c", "{\"price\":3}")),
                new Case("a key twice", source("{\"n\":1,\"n\":2}") + index("b", 0, 1)),
                new Case("no JSON", source("{\"n\":1") + index("b", 0, 1)),
                new Case("no object", source("[{\"n\":1}]") + source("7") + index("b", 0, 1)),
                new Case("more behind the object", source("{\"n\":1}}") + source("{\"n\":1} {}") + index("b", 0, 1)),
                new Case(
                        "comments",
                        source("{\"n\":1}//}") + index("b", 0, 1),
                        "{\"index\":{\"_id\":\"c\"}}\n" + "{\"n\":/**/1}\n"),
                new Case("what the mapping refuses makes the index", source("{\"price\":\"x\"}"), delete("q", 0)),
                new Case(
                        "the mapping comes before the version",
                        index("a", 5, 1),
                        versioned("a", 4, "{\"price\":\"x\"}"),
                        versioned("a", 6, "{\"price\":\"x\"}"),
                        index("a", 6, 2)),
                new Case(
                        "what no JSON is, comes before the version",
                        index("a", 5, 1),
                        versioned("a", 4, "{\"n\""),
                        index("a", 6, 2)),
                new Case(
                        "an id that is too long spoils the request",
                        index("b", 1, 1) + index("k".repeat(513), 1, 1),
                        index("k".repeat(512), 1, 1)));
    }

    private static String index(String id, long version, int n) {
        return versioned(id, version, "{\"n\":" + n + "}");
    }

    private static String versioned(String id, long version, String source) {
        return "{\"index\":{\"_id\":\"" + id + "\"" + version(version) + "}}\n" + source + "\n";
    }

    private static String source(String source) {
        return versioned("a", 0, source);
    }

    private static String create(String id, int n) {
        return "{\"create\":{\"_id\":\"" + id + "\"}}\n{\"n\":" + n + "}\n";
    }

    private static String delete(String id, long version) {
        return "{\"delete\":{\"_id\":\"" + id + "\"" + version(version) + "}}\n";
    }

    private static String update(String id, String doc) {
        return "{\"update\":{\"_id\":\"" + id + "\",\"retry_on_conflict\":3}}\n{\"doc\":" + doc
                + ",\"doc_as_upsert\":true}\n";
    }

    /** 0 stands for none. */
    private static String version(long version) {
        return version == 0 ? "" : ",\"version_type\":\"external\",\"version\":" + version;
    }

    /** The same answers, and the same documents in the end. */
    @ParameterizedTest
    @MethodSource("cases")
    void itAnswersAndStoresWhatARealOneDoes(Case one) throws IOException, InterruptedException {
        PlayedElasticsearch played = new PlayedElasticsearch(name -> false);
        List<String> expected = new ArrayList<>();
        List<String> actual = new ArrayList<>();
        for (String body : one.bodies()) {
            HttpResponse<String> real = ask("POST", "/" + INDEX + "/_bulk", body);
            expected.addAll(answers(real.statusCode(), real.body()));
            PlayedElasticsearch.Reply reply = played.bulk(INDEX, body, item -> true);
            actual.addAll(answers(reply.status(), reply.body()));
        }
        expected.addAll(stored());
        actual.addAll(documents(played.stored().getOrDefault(INDEX, Map.of())));
        assertEquals(String.join("\n", expected), String.join("\n", actual));
    }

    /** What is stored is given back by id, as the sink asks for it; what is not there, or was deleted, is not found. */
    @Test
    void itGivesDocumentsBackAsARealOneDoes() throws IOException, InterruptedException {
        PlayedElasticsearch played = new PlayedElasticsearch(name -> false);
        String[] bodies = {
            create("a", 1) + index("v", 7, 2) + index("d", 3, 3) + index("u", 0, 4), delete("d", 5) + index("u", 0, 5)
        };
        for (String body : bodies) {
            ask("POST", "/" + INDEX + "/_bulk", body);
            played.bulk(INDEX, body, item -> true);
        }
        String asked = Stream.of("a", "v", "d", "u", "never")
                .map(id -> "{\"_index\":\"" + INDEX + "\",\"_id\":\"" + id + "\"}")
                .collect(Collectors.joining(",", "{\"docs\":[", ",{\"_index\":\"sluice-none\",\"_id\":\"a\"}]}"));
        assertEquals(
                given(ask("POST", "/_mget", asked).body()),
                given(played.mget(asked).body()));
    }

    private static String given(String answer) throws IOException {
        List<String> lines = new ArrayList<>();
        for (JsonNode one : PlayedElasticsearch.JSON.readTree(answer).get("docs")) {
            lines.add(named(one) + " " + one.path("found") + " " + one.path("_version") + " " + one.path("_source")
                    + " " + type(one));
        }
        return String.join("\n", lines);
    }

    /** In a data stream only creates are taken, each with a timestamp. */
    @Test
    void itAnswersForDataStreamsWhatARealOneDoes() throws IOException, InterruptedException {
        int status = put(STREAM_TEMPLATE, STREAM, "\"data_stream\":{},");
        assumeTrue(status == 200, "the server has no data streams");
        // Some builds know data streams without any API for them: there it stays, and so do documents of earlier runs.
        String id = "a" + System.nanoTime();
        String timestamp = "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"n\":1}\n";
        String body = "{\"create\":{\"_id\":\"" + id + "\"}}\n" + timestamp
                + "{\"create\":{\"_id\":\"" + id + "\"}}\n" + timestamp
                + "{\"create\":{}}\n{\"n\":1}\n"
                + "{\"create\":{}}\n{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"price\":\"x\"}\n"
                + "{\"create\":{}}\n{\"@timestamp\"\n"
                + index(id, 0, 1) + index(id, 7, 1) + delete(id, 0) + update(id, "{\"n\":1}");
        HttpResponse<String> real = ask("POST", "/" + STREAM + "/_bulk", body);
        ask("DELETE", "/_data_stream/" + STREAM, null);
        ask("DELETE", STREAM_TEMPLATE, null);
        boolean isStream = real.body().contains("allowed in data streams");
        if (!isStream) {
            ask("DELETE", "/" + STREAM, null);
        }
        assumeTrue(isStream, "the server has no data streams");
        PlayedElasticsearch.Reply reply = new PlayedElasticsearch(name -> true).bulk(STREAM, body, item -> true);
        assertEquals(
                String.join("\n", answers(real.statusCode(), real.body())),
                String.join("\n", answers(reply.status(), reply.body())));
    }

    /** A line for each item, or one for a request that was refused: what the sink goes by. */
    private static List<String> answers(int status, String body) throws IOException {
        JsonNode answer = PlayedElasticsearch.JSON.readTree(body);
        if (status != 200) {
            return List.of("refused: " + status + " " + type(answer));
        }
        List<String> lines = new ArrayList<>();
        for (JsonNode item : answer.get("items")) {
            String action = item.fieldNames().next();
            JsonNode outcome = item.get(action);
            String reason = outcome.path("error").path("reason").asText("");
            Matcher version = CURRENT_VERSION.matcher(reason);
            lines.add(
                    action + " " + named(outcome) + ": " + outcome.get("status").asInt() + " " + type(outcome)
                            + (version.find() ? " " + version.group() : ""));
        }
        return lines;
    }

    /** The document that an item names, whether it succeeded or not; the sink compares it with what was sent. */
    private static String named(JsonNode outcome) {
        String index = outcome.path("_index").asText("none").replaceFirst("^\\.ds-(.*?)-\\d.*", "$1");
        String id = outcome.path("_id").asText("none").replaceFirst("^(made-.*|none|null|[\\w-]{15,})$", "(made)");
        return index + "/" + id;
    }

    private static String type(JsonNode answer) {
        String type = answer.path("error").path("type").asText("");
        return UNREADABLE.matcher(type).replaceFirst("(unreadable)");
    }

    private static List<String> stored() throws IOException, InterruptedException {
        ask("POST", "/" + INDEX + "/_refresh", null);
        HttpResponse<String> found = ask("GET", "/" + INDEX + "/_search?size=100&pretty", null);
        if (found.statusCode() == 404) {
            return List.of();
        }
        List<String> lines = new ArrayList<>();
        for (JsonNode hit :
                PlayedElasticsearch.JSON.readTree(found.body()).get("hits").get("hits")) {
            lines.add(line(hit.get("_id").asText(), hit.get("_source")));
        }
        return lines.stream().sorted().toList();
    }

    private static List<String> documents(Map<String, JsonNode> documents) {
        return documents.entrySet().stream()
                .map(document -> line(document.getKey(), document.getValue()))
                .sorted()
                .collect(Collectors.toList());
    }

    /** Ids that were given are as long as a real one's, or have a prefix. */
    private static String line(String id, JsonNode source) {
        boolean isGiven = id.startsWith("made-") || id.length() == 20;
        return "stored " + (isGiven ? "(given)" : id) + " " + source;
    }

    private static HttpResponse<String> ask(String method, String path, String body)
            throws IOException, InterruptedException {
        HttpRequest.BodyPublisher publisher =
                body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body, UTF_8);
        HttpRequest request = HttpRequest.newBuilder(URI.create(URL + path))
                .header("Content-Type", path.endsWith("_bulk") ? "application/x-ndjson" : "application/json")
                .method(method, publisher)
                .build();
        return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    }
}
