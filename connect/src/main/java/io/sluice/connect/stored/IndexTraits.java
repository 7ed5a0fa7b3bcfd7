package io.sluice.connect.stored;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.cluster.Answer;
import io.sluice.connect.cluster.ClusterRequest;
import java.net.URLEncoder;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * What an index does to documents before it gives them back.
 *
 * @param doubt why a stored document may not be what was sent, empty if there is no reason
 * @param isSynthetic whether it puts documents together from their fields
 */
public record IndexTraits(String doubt, boolean isSynthetic) {
    private static final String QUERY =
            "?filter_path=*.settings.index.default_pipeline,*.settings.index.final_pipeline,"
                    + "*.settings.index.mode,*.settings.index.mapping.source.mode,*.settings.index.derived_source.enabled,"
                    + "*.mappings._source,*.mappings.**.type";
    private static final String NO_PIPELINE = "_none";

    /** Their source is synthetic unless it is said to be stored. */
    private static final Set<String> SYNTHETIC_MODES = Set.of("logsdb", "time_series", "columnar", "logsdb_columnar");

    /** Source modes that put nothing together; `columnar_stored` of 9.5 does, from a column of values. */
    private static final Set<String> UNCHANGED_SOURCES = Set.of("stored", "disabled");

    /** Fields whose values are not kept, or not as they were sent. */
    private static final Set<String> CHANGING_TYPES =
            Set.of("semantic_text", "semantic", "dense_vector", "sparse_vector", "rank_vectors", "knn_vector");

    private static final int FORBIDDEN = 403;

    public static ClusterRequest question(String index) {
        return new ClusterRequest("GET", "/" + URLEncoder.encode(index, UTF_8) + QUERY);
    }

    public static IndexTraits of(Answer answer) {
        if (!answer.isSuccess()) {
            String why = answer.status() == FORBIDDEN
                    ? "the account lacks the privilege view_index_metadata"
                    : "the settings of the index cannot be read (status " + answer.status() + ")";
            return new IndexTraits(why, false);
        }
        Map<String, String> byPath = new HashMap<>();
        answer.scalars().forEach((path, value) -> byPath.put(path.replaceFirst("^/[^/]*", ""), value));
        return isSynthetic(byPath)
                ? new IndexTraits("the index does not keep _source as it was sent", true)
                : new IndexTraits(doubt(byPath), false);
    }

    private static boolean isSynthetic(Map<String, String> byPath) {
        String mode = byPath.getOrDefault("/settings/index/mode", "");
        String stated = byPath.getOrDefault(
                "/settings/index/mapping/source/mode", byPath.getOrDefault("/mappings/_source/mode", ""));
        boolean isDerived = "true".equals(byPath.get("/settings/index/derived_source/enabled"));
        return isDerived || (stated.isEmpty() ? SYNTHETIC_MODES.contains(mode) : !UNCHANGED_SOURCES.contains(stated));
    }

    private static String doubt(Map<String, String> byPath) {
        boolean hasPipeline = byPath.entrySet().stream()
                .anyMatch(setting -> setting.getKey().matches("/settings/index/(default|final)_pipeline")
                        && !setting.getValue().equals(NO_PIPELINE));
        if (hasPipeline) {
            return "an ingest pipeline of the index may change documents";
        }
        boolean isPartial =
                byPath.keySet().stream().anyMatch(path -> path.matches("/mappings/_source/(in|ex)cludes/.*"))
                        || "false".equals(byPath.get("/mappings/_source/enabled"));
        if (isPartial) {
            return "the index does not keep all of _source";
        }
        return byPath.entrySet().stream()
                .filter(field -> field.getKey().endsWith("/type") && CHANGING_TYPES.contains(field.getValue()))
                .map(field -> "a field of the type " + field.getValue() + " may not be kept as it was sent")
                .findFirst()
                .orElse("");
    }
}
