package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Warns once for each topic whose values were written by JsonConverter with schemas and read as bytes or strings. */
final class Envelopes {
    private static final Logger LOG = LoggerFactory.getLogger(Envelopes.class);
    private static final byte[] BEGIN = "{\"schema\":".getBytes(US_ASCII);
    private static final byte[] TYPE = "{\"type\":\"".getBytes(US_ASCII);
    private static final byte[] NO_TYPE = "null,\"payload\":".getBytes(US_ASCII);

    /** A transformation may name a topic after anything. */
    private static final int MOST_TOPICS = 1_000;

    private final Set<String> topics = new HashSet<>();

    /** Looks at the first bytes alone; the document is valid either way. */
    void note(String topic, byte[] json) {
        if (isEnvelope(json) && topics.size() < MOST_TOPICS && topics.add(topic)) {
            LOG.warn(
                    "Topic {}: got values like {\"schema\":...,\"payload\":...} and indexes them as they are;"
                            + " value.converter=org.apache.kafka.connect.json.JsonConverter indexes the payload alone",
                    topic);
        }
    }

    private static boolean isEnvelope(byte[] json) {
        return startsWith(json, 0, BEGIN)
                && (startsWith(json, BEGIN.length, TYPE) || startsWith(json, BEGIN.length, NO_TYPE));
    }

    private static boolean startsWith(byte[] json, int from, byte[] part) {
        return json.length >= from + part.length && Arrays.equals(json, from, from + part.length, part, 0, part.length);
    }
}
