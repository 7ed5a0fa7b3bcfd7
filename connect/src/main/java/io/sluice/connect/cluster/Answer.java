package io.sluice.connect.cluster;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.http.HttpStatus;

/** What the cluster said; a body that is no JSON says nothing. */
record Answer(int status, String body) {
    private static final JsonFactory JSON = new JsonFactory();

    boolean isRedirection() {
        return status >= HttpStatus.SC_MULTIPLE_CHOICES && status < HttpStatus.SC_BAD_REQUEST;
    }

    /** Each scalar of the body by its JSON pointer, in order. */
    Map<String, String> scalars() {
        Map<String, String> scalars = new LinkedHashMap<>();
        try (JsonParser parser = JSON.createParser(body)) {
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

    /** The version of an Elasticsearch, or {@code null} if the body names none or another product. */
    String elasticsearchVersion() {
        Map<String, String> scalars = scalars();
        boolean isOther = scalars.containsKey("/version/distribution");
        String version = scalars.getOrDefault("/version/number", "");
        return !isOther && version.matches("\\d{1,4}\\.\\d{1,4}(\\D.*)?") ? version : null;
    }
}
