package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * What Elasticsearch makes of bulk requests: versions, creates, upserts, deletes, data streams, and what it refuses. Where
 * this is right is held by {@link PlayedElasticsearchIT}, which sends the same requests to a real one.
 */
final class PlayedElasticsearch {
    static final JsonMapper JSON = JsonMapper.builder()
            .enable(JsonReadFeature.ALLOW_JAVA_COMMENTS)
            .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    private static final int LONGEST_ID_BYTES = 512;

    /** One document, or what is remembered of a deleted one. */
    record Document(JsonNode source, long version) {}

    private record Item(String action, JsonNode parameters, String source) {
        String id() {
            return parameters.path("_id").asText(null);
        }

        boolean isVersioned() {
            return parameters.has("version");
        }

        long version() {
            return parameters.path("version").asLong();
        }
    }

    private final Map<String, Map<String, Document>> indices = new TreeMap<>();
    private final Predicate<String> isDataStream;
    private long named;

    /** @param isDataStream which names a template makes data streams of */
    PlayedElasticsearch(Predicate<String> isDataStream) {
        this.isDataStream = isDataStream;
    }

    record Reply(int status, String body) {}

    /** Answers to {@code POST /index/_bulk}; of the items only those are looked at that {@code isTaken}, the others get 429. */
    Reply bulk(String index, String body, Predicate<String> isTaken) {
        List<Item> items;
        try {
            items = items(body);
        } catch (JsonProcessingException unreadable) {
            return refusal(400, "x_content_parse_exception", "unreadable");
        }
        for (Item item : items) {
            if (item.id() != null && item.id().getBytes(UTF_8).length > LONGEST_ID_BYTES) {
                return refusal(400, "action_request_validation_exception", "Validation Failed: 1: id is too long;");
            }
            if (item.isVersioned() && item.version() < 0) {
                return refusal(
                        400,
                        "action_request_validation_exception",
                        "Validation Failed: 1: illegal version value [" + item.version()
                                + "] for version type [EXTERNAL];");
            }
        }
        if (items.stream().anyMatch(item -> makesIndex(index, item))) {
            indices.computeIfAbsent(index, name -> new TreeMap<>());
        }
        ArrayNode answers = JSON.createArrayNode();
        for (Item item : items) {
            ObjectNode answer = answers.addObject()
                    .putObject(item.action)
                    .put("_index", index)
                    .put("_id", item.id());
            if (isTaken.test(item.source == null ? item.id() : item.source)) {
                apply(index, item, answer);
            } else {
                fail(answer, 429, "es_rejected_execution_exception", "rejected execution of primary operation");
            }
        }
        return new Reply(
                200,
                JSON.createObjectNode()
                        .put("errors", true)
                        .set("items", answers)
                        .toString());
    }

    /** Answers to {@code POST /_mget}. */
    Reply mget(String body) {
        ArrayNode answers = JSON.createArrayNode();
        for (JsonNode asked : read(body).path("docs")) {
            String index = asked.path("_index").asText();
            String id = asked.path("_id").asText();
            ObjectNode answer = answers.addObject().put("_index", index).put("_id", id);
            Document stored = indices.getOrDefault(index, Map.of()).get(id);
            if (!indices.containsKey(index)) {
                answer.putObject("error")
                        .put("type", "index_not_found_exception")
                        .put("reason", "no such index [" + index + "]");
            } else if (stored == null || stored.source == null) {
                answer.put("found", false);
            } else {
                answer.put("_version", stored.version).put("found", true).set("_source", stored.source);
            }
        }
        return new Reply(200, JSON.createObjectNode().set("docs", answers).toString());
    }

    private static JsonNode read(String body) {
        try {
            return JSON.readTree(body);
        } catch (JsonProcessingException unreadable) {
            throw new IllegalArgumentException(unreadable);
        }
    }

    /** Before any item is looked at; also an item that is then refused does. */
    private boolean makesIndex(String index, Item item) {
        boolean isWrite = !item.action.equals("delete") || item.isVersioned();
        return isWrite && (!isDataStream.test(index) || item.action.equals("create"));
    }

    /** Action lines and the documents of upserts are parsed with the request, other documents with their item. */
    private static List<Item> items(String body) throws JsonProcessingException {
        List<Item> items = new ArrayList<>();
        String[] lines = body.split("\n");
        for (int i = 0; i < lines.length; i++) {
            JsonNode line = JSON.readTree(lines[i]);
            String action = line.fieldNames().next();
            String source = action.equals("delete") ? null : lines[++i];
            if (action.equals("update") && !JSON.readTree(source).path("doc").isObject()) {
                throw new JsonMappingException(null, "[UpdateRequest] doc is no object");
            }
            items.add(new Item(action, line.get(action), source));
        }
        return items;
    }

    private static Reply refusal(int status, String type, String reason) {
        ObjectNode body = JSON.createObjectNode().put("status", status);
        body.putObject("error").put("type", type).put("reason", reason);
        return new Reply(status, body.toString());
    }

    private static void fail(ObjectNode answer, int status, String type, String reason) {
        answer.put("status", status).putObject("error").put("type", type).put("reason", reason);
    }

    private void apply(String index, Item item, ObjectNode answer) {
        boolean isStream = isDataStream.test(index);
        if (isStream && !item.action.equals("create")) {
            fail(
                    answer,
                    400,
                    "illegal_argument_exception",
                    "only write ops with an op_type of create are allowed in data streams");
            return;
        }
        boolean isMissing = !indices.containsKey(index);
        if (isMissing && item.action.equals("delete") && !item.isVersioned()) {
            fail(answer, 404, "index_not_found_exception", "no such index [" + index + "]");
            return;
        }
        // A document is parsed before its version is looked at.
        JsonNode source = item.action.equals("delete") ? null : sourceOf(item, answer, isStream);
        if (source == null && !item.action.equals("delete")) {
            return;
        }
        Map<String, Document> documents = indices.get(index);
        String id = item.id() == null ? "made-" + named++ : item.id();
        answer.put("_id", id);
        Document stored = documents.get(id);
        if (item.isVersioned() && stored != null && stored.version >= item.version()) {
            fail(
                    answer,
                    409,
                    "version_conflict_engine_exception",
                    "[" + id + "]: version conflict, current version [" + stored.version
                            + "] is higher or equal to the one provided [" + item.version() + "]");
            return;
        }
        boolean isThere = stored != null && stored.source != null;
        if (item.action.equals("create") && isThere) {
            fail(
                    answer,
                    409,
                    "version_conflict_engine_exception",
                    "[" + id + "]: version conflict, document already exists (current version [" + stored.version
                            + "])");
            return;
        }
        if (item.action.equals("update") && isThere) {
            source = merged((ObjectNode) stored.source.deepCopy(), (ObjectNode) source);
            if (source.equals(stored.source)) {
                answer.put("status", 200);
                return;
            }
        }
        long version = item.isVersioned() ? item.version() : stored == null ? 1 : stored.version + 1;
        documents.put(id, new Document(source, version));
        int created = source == null ? 404 : 201;
        answer.put("status", isThere ? 200 : created);
    }

    /** Objects in objects are merged, too; anything else is replaced. */
    static ObjectNode merged(ObjectNode into, ObjectNode changes) {
        changes.fieldNames().forEachRemaining(name -> {
            boolean areObjects = into.path(name).isObject() && changes.get(name).isObject();
            into.set(
                    name,
                    areObjects
                            ? merged((ObjectNode) into.get(name), (ObjectNode) changes.get(name))
                            : changes.get(name));
        });
        return into;
    }

    /** The document, or {@code null} where it cannot be parsed or mapped. */
    private static JsonNode sourceOf(Item item, ObjectNode answer, boolean isStream) {
        try {
            JsonNode line = JSON.readTree(item.source);
            JsonNode source = item.action.equals("update") ? line.get("doc") : line;
            boolean isMapped = source.isObject()
                    && (!source.has("price") || source.get("price").isNumber())
                    && (!isStream || source.has("@timestamp"));
            if (isMapped) {
                return source;
            }
        } catch (JsonProcessingException malformed) {
            // Told below.
        }
        fail(answer, 400, "document_parsing_exception", "failed to parse: " + item.source);
        return null;
    }

    /** Forgets deleted documents, as after {@code index.gc_deletes} or a restart. */
    void collectDeletes() {
        indices.values().forEach(documents -> documents.values().removeIf(document -> document.source == null));
    }

    void removeAll() {
        indices.clear();
    }

    /** What is stored in one index, by id. */
    Map<String, Document> documents(String index) {
        Map<String, Document> documents = new TreeMap<>(indices.getOrDefault(index, Map.of()));
        documents.values().removeIf(document -> document.source == null);
        return documents;
    }

    /** What a search would find: the document of each id, by index. */
    Map<String, Map<String, JsonNode>> stored() {
        Map<String, Map<String, JsonNode>> stored = new TreeMap<>();
        indices.forEach((index, documents) -> documents.forEach((id, document) -> {
            if (document.source != null) {
                stored.computeIfAbsent(index, name -> new TreeMap<>()).put(id, document.source);
            }
        }));
        return stored;
    }
}
