package io.sluice.connect.encode;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;

/** Valid JSON that stands in a value as text. */
record EmbeddedJson(String text) {
    private static final JsonFactory JSON = new JsonFactory();

    static EmbeddedJson of(String text) throws UnwritableException {
        try (JsonParser parser = JSON.createParser(text)) {
            JsonToken first = parser.nextToken();
            if (first != null) {
                parser.skipChildren();
                if (parser.nextToken() == null) {
                    return new EmbeddedJson(onOneLine(text));
                }
            }
        } catch (IOException invalid) {
            // The cause is left out: its message may quote the text.
        }
        throw new UnwritableException("got text that is no JSON, expected one JSON value");
    }

    /** A raw line break cannot stand inside a string of valid JSON. */
    private static String onOneLine(String text) {
        return text.replace('\n', ' ').replace('\r', ' ');
    }
}
