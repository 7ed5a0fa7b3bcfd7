package io.sluice.connect.cluster;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;
import org.apache.hc.core5.http.HttpStatus;

/**
 * What a node answered.
 *
 * @param node host and port
 * @param body as it came
 * @param isPacked whether the body is in gzip
 */
public record Answer(String node, int status, byte[] body, boolean isPacked) {
    private static final JsonFactory JSON = new JsonFactory();
    private static final int MOST_BYTES = 2 << 20;
    private static final int MOST_CHARS = 8 << 20;
    private static final int MOST_DEPTH = 12;
    /** Names of indices have at most 255 bytes. */
    private static final int LONGEST_NAME = 255;

    public boolean isSuccess() {
        return status >= HttpStatus.SC_OK && status < HttpStatus.SC_REDIRECTION;
    }

    boolean isRedirection() {
        return status >= HttpStatus.SC_REDIRECTION && status < HttpStatus.SC_BAD_REQUEST;
    }

    /** Whether the node, or what stands before it, cannot serve now, and another may. */
    public boolean isUnavailable() {
        return status == HttpStatus.SC_BAD_GATEWAY
                || status == HttpStatus.SC_SERVICE_UNAVAILABLE
                || status == HttpStatus.SC_GATEWAY_TIMEOUT;
    }

    /** The body, unpacked. */
    public byte[] content() throws IOException {
        if (!isPacked) {
            return body;
        }
        try (InputStream unpacked = new GZIPInputStream(new ByteArrayInputStream(body))) {
            return unpacked.readAllBytes();
        }
    }

    /**
     * Each scalar of the body by its JSON pointer, in order, of an answer that is small whatever the server is.
     *
     * @throws IOException it is no JSON, or larger than an answer to a question of ours
     */
    public Map<String, String> fewScalars() throws IOException {
        Map<String, String> scalars = new LinkedHashMap<>();
        int depth = 0;
        long chars = 0;
        try (JsonParser parser = JSON.createParser(contentWithin(MOST_BYTES))) {
            for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
                depth += token.isStructStart() ? 1 : token.isStructEnd() ? -1 : 0;
                if (depth > MOST_DEPTH || token == JsonToken.FIELD_NAME && parser.getTextLength() > LONGEST_NAME) {
                    throw new IOException("names or levels that no answer has");
                }
                if (token.isScalarValue()) {
                    String at = parser.getParsingContext().pathAsPointer().toString();
                    chars += at.length() + parser.getTextLength();
                    if (chars > MOST_CHARS) {
                        throw new IOException("too many names");
                    }
                    scalars.put(at, parser.getText());
                }
            }
        }
        return scalars;
    }

    private byte[] contentWithin(int most) throws IOException {
        if (!isPacked && body.length <= most) {
            return body;
        }
        try (InputStream content =
                isPacked ? new GZIPInputStream(new ByteArrayInputStream(body)) : new ByteArrayInputStream(body)) {
            byte[] bytes = content.readNBytes(most + 1);
            if (bytes.length > most) {
                throw new IOException("more than " + most + " bytes");
            }
            return bytes;
        }
    }

    /** Whether the body is one JSON object and nothing else. */
    public boolean isObject() {
        try (JsonParser parser = JSON.createParser(content())) {
            boolean isObject = parser.nextToken() == JsonToken.START_OBJECT;
            return isObject && parser.skipChildren().nextToken() == null;
        } catch (IOException notJson) {
            return false;
        }
    }

    /** Each scalar of the body by its JSON pointer, in order; a body that is no JSON says nothing. */
    public Map<String, String> scalars() {
        Map<String, String> scalars = new LinkedHashMap<>();
        try (JsonParser parser = JSON.createParser(content())) {
            for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
                if (token.isScalarValue()) {
                    scalars.put(parser.getParsingContext().pathAsPointer().toString(), parser.getText());
                }
            }
        } catch (IOException notJson) {
            return Map.of();
        }
        return scalars;
    }

    /** The names in the answer to {@code _resolve/index} under {@code indices}, {@code aliases} or {@code data_streams}. */
    List<String> names(String kind) {
        return scalars().entrySet().stream()
                .filter(scalar -> scalar.getKey().matches("/" + kind + "/\\d+/name"))
                .map(Map.Entry::getValue)
                .collect(Collectors.toList());
    }

    /** How many indices the aliases in the answer to {@code _resolve/index} stand for. */
    long indicesOfAliases() {
        return scalars().keySet().stream()
                .filter(at -> at.matches("/aliases/\\d+/indices/\\d+"))
                .count();
    }

    /** The version of an Elasticsearch, or {@code null} if the body names none or another product. */
    String elasticsearchVersion() {
        Map<String, String> scalars = scalars();
        boolean isOther = scalars.containsKey("/version/distribution");
        String version = scalars.getOrDefault("/version/number", "");
        return !isOther && version.matches("\\d{1,4}\\.\\d{1,4}(\\D.*)?") ? version : null;
    }
}
