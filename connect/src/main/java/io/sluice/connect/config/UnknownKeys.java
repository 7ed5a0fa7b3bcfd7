package io.sluice.connect.config;

import java.util.Comparator;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** Finds keys that nothing reads: Connect accepts them in silence, and the setting that was meant keeps its default. */
final class UnknownKeys {
    /** A key with so few letters more, fewer or other ones is a typing error. */
    private static final int MOST_EDITS = 2;

    private static final Set<String> OURS = SinkConfig.definition().names();

    /** Of {@code SinkConnectorConfig}, which the worker has and this plugin cannot name; a test compares them. */
    private static final Set<String> OF_CONNECT = Set.of(
            "name",
            "connector.class",
            "connector.plugin.version",
            "tasks.max",
            "tasks.max.enforce",
            "topics",
            "topics.regex",
            "config.action.reload",
            "errors.retry.timeout",
            "errors.retry.delay.max.ms",
            "errors.tolerance",
            "errors.log.enable",
            "errors.log.include.messages",
            "errors.deadletterqueue.topic.name",
            "errors.deadletterqueue.topic.replication.factor",
            "errors.deadletterqueue.context.headers.enable");

    /** Keys of converters, transforms, predicates and Kafka's clients, which read what stands below them. */
    private static final Pattern OF_PLUGINS =
            Pattern.compile("(key|value|header)\\.converter(\\..+)?|(transforms|predicates)(\\..+)?"
                    + "|(consumer|producer|admin)\\.override\\..+");

    private UnknownKeys() {}

    /** Refuses a key that is almost one of ours, and warns of others: a worker may have extensions that read them. */
    static void check(Findings findings) {
        for (String key : new TreeMap<>(findings.given()).keySet()) {
            if (OURS.contains(key)
                    || OF_CONNECT.contains(key)
                    || OF_PLUGINS.matcher(key).matches()) {
                continue;
            }
            Optional<String> meant = meantBy(key);
            if (meant.isPresent()) {
                findings.refuse(meant.get(), "got the unknown key " + key + ", expected " + meant.get());
            } else {
                findings.warn(key, "unknown key, which neither the sink nor Connect reads");
            }
        }
    }

    /** The setting whose name is nearest, if that is near; case and separators do not count. */
    private static Optional<String> meantBy(String key) {
        Map<String, Integer> edits = new TreeMap<>();
        OURS.forEach(name -> edits.put(name, edits(letters(key), letters(name))));
        return edits.entrySet().stream()
                .min(Comparator.comparing(Map.Entry::getValue))
                .filter(nearest -> nearest.getValue() <= MOST_EDITS)
                .map(Map.Entry::getKey);
    }

    private static String letters(String key) {
        return key.toLowerCase(Locale.ROOT).replaceAll("[._-]", "");
    }

    /** Letters to insert, delete or replace until the one word is the other (Levenshtein distance). */
    private static int edits(String one, String other) {
        int[] row = new int[other.length() + 1];
        for (int i = 0; i < row.length; i++) {
            row[i] = i;
        }
        for (int i = 1; i <= one.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j < row.length; j++) {
                int replaced = diagonal + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[other.length()];
    }
}
