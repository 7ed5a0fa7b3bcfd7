package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import io.sluice.connect.cluster.ClusterRequest;
import io.sluice.connect.stored.StoredDocument;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.nio.entity.BasicAsyncEntityProducer;

/**
 * Asks for stored documents and reads the answer.
 *
 * <p>Without {@code filter_path}: with it Elasticsearch writes the documents anew and rounds their numbers.
 */
final class StoredDocuments {
    private static final JsonFactory JSON = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxStringLength(Integer.MAX_VALUE)
                    .build())
            .build();

    private StoredDocuments() {}

    static ClusterRequest question(List<Conflict> conflicts) {
        byte[] body = body(conflicts);
        return new ClusterRequest(
                "POST", "/_mget", () -> new BasicAsyncEntityProducer(body, ContentType.APPLICATION_JSON));
    }

    static byte[] body(List<Conflict> conflicts) {
        StringBuilder body = new StringBuilder("{\"docs\":[");
        for (int i = 0; i < conflicts.size(); i++) {
            append(body.append(i == 0 ? "{" : ",{"), conflicts.get(i));
            body.append('}');
        }
        return body.append("]}").toString().getBytes(UTF_8);
    }

    private static void append(StringBuilder json, Conflict conflict) {
        append(json, "_index", conflict.place().index());
        append(json.append(','), "_id", conflict.place().id());
        String routing = routing(conflict.operation().line(0));
        if (routing != null) {
            append(json.append(','), "routing", routing);
        }
    }

    private static void append(StringBuilder json, String name, String value) {
        json.append('"').append(name).append("\":\"");
        JsonStringEncoder.getInstance().quoteAsString(value, json);
        json.append('"');
    }

    /** The routing in an action line, {@code null} without one. */
    static String routing(byte[] action) {
        try (JsonParser parser = JSON.createParser(action)) {
            for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
                if (token == JsonToken.FIELD_NAME && parser.currentName().equals("routing")) {
                    return parser.nextTextValue();
                }
            }
            return null;
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
    }

    /** @throws IOException it is no answer about so many documents */
    static List<StoredDocument> read(byte[] answer, List<Conflict> asked) throws IOException {
        List<StoredDocument> documents = new ArrayList<>(asked.size());
        try (JsonParser parser = JSON.createParser(answer)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw new IOException("the answer about stored documents is no JSON object");
            }
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                boolean areDocuments = parser.currentName().equals("docs");
                if (parser.nextToken() == JsonToken.START_ARRAY && areDocuments) {
                    readAll(parser, answer, asked, documents);
                } else {
                    parser.skipChildren();
                }
            }
        } catch (JsonProcessingException notJson) {
            // The cause is left out: its message may quote a document.
            throw new IOException("the answer about stored documents is no valid JSON");
        }
        if (documents.size() != asked.size()) {
            throw new IOException("the answer holds " + documents.size() + " documents, expected " + asked.size());
        }
        return documents;
    }

    private static void readAll(JsonParser parser, byte[] answer, List<Conflict> asked, List<StoredDocument> documents)
            throws IOException {
        while (parser.nextToken() == JsonToken.START_OBJECT) {
            if (documents.size() == asked.size()) {
                throw new IOException("the answer holds more than " + asked.size() + " documents");
            }
            documents.add(
                    document(parser, answer, asked.get(documents.size()).place().id()));
        }
    }

    /** An answer about another document than was asked for is none. */
    private static StoredDocument document(JsonParser parser, byte[] answer, String id) throws IOException {
        boolean isNamed = false;
        boolean found = false;
        long version = -1;
        int from = 0;
        int to = 0;
        String error = null;
        for (String field = parser.nextFieldName(); field != null; field = parser.nextFieldName()) {
            JsonToken value = parser.nextToken();
            switch (field) {
                case "_id" -> isNamed = id.equals(parser.getText());
                case "found" -> found = value == JsonToken.VALUE_TRUE;
                case "_version" -> version = parser.getLongValue();
                case "_source" -> {
                    from = (int) parser.currentTokenLocation().getByteOffset();
                    parser.skipChildren();
                    to = (int) parser.currentLocation().getByteOffset();
                }
                case "error" -> error = value == JsonToken.START_OBJECT ? type(parser) : "unknown";
                default -> parser.skipChildren();
            }
        }
        if (!isNamed) {
            throw new IOException("the answer is about another document than was asked for");
        }
        return new StoredDocument(found, version, answer, from, to, error);
    }

    private static String type(JsonParser parser) throws IOException {
        String type = "unknown";
        for (String field = parser.nextFieldName(); field != null; field = parser.nextFieldName()) {
            JsonToken value = parser.nextToken();
            if (field.equals("type") && value == JsonToken.VALUE_STRING) {
                type = parser.getText();
            } else {
                parser.skipChildren();
            }
        }
        return type;
    }
}
