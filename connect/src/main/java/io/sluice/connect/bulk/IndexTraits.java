package io.sluice.connect.bulk;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.cluster.Answer;
import io.sluice.connect.cluster.ClusterRequest;
import java.net.URLEncoder;
import java.util.Map;
import java.util.Set;

/**
 * What an index does to documents before it gives them back.
 *
 * @param doubt why a stored document may not be what was sent, empty if there is no reason
 * @param isSynthetic whether it puts documents together from their fields
 */
record IndexTraits(String doubt, boolean isSynthetic) {
    private static final String QUERY =
            "?filter_path=*.settings.index.default_pipeline,*.settings.index.final_pipeline,"
                    + "*.settings.index.mode,*.settings.index.mapping.source.mode,*.mappings._source,*.mappings.**.type";
    private static final String NO_PIPELINE = "_none";

    /** Their source is synthetic unless it is said to be stored. */
    private static final Set<String> SYNTHETIC_MODES = Set.of("logsdb", "time_series");

    private static final int FORBIDDEN = 403;

    static ClusterRequest question(String index) {
        return new ClusterRequest("GET", "/" + URLEncoder.encode(index, UTF_8) + QUERY);
    }

    static IndexTraits of(Answer answer) {
        if (!answer.isSuccess()) {
            String why = answer.status() == FORBIDDEN
                    ? "without the privilege view_index_metadata, whether the index changes documents is unknown"
                    : "its settings cannot be read (status " + answer.status() + ")";
            return new IndexTraits(why, false);
        }
        return of(answer.scalars());
    }

    private static IndexTraits of(Map<String, String> scalars) {
        String sourceMode = "";
        boolean isSyntheticByMode = false;
        String doubt = "";
        for (Map.Entry<String, String> scalar : scalars.entrySet()) {
            String path = scalar.getKey().replaceFirst("^/[^/]*", "");
            String value = scalar.getValue();
            if (path.endsWith("_pipeline") && !value.equals(NO_PIPELINE)) {
                doubt = "an ingest pipeline of the index may change documents";
            } else if (path.equals("/settings/index/mode")) {
                isSyntheticByMode = SYNTHETIC_MODES.contains(value);
            } else if (path.equals("/settings/index/mapping/source/mode") || path.equals("/mappings/_source/mode")) {
                sourceMode = value;
            } else if (path.startsWith("/mappings/_source/") && !path.equals("/mappings/_source/enabled")
                    || path.equals("/mappings/_source/enabled") && value.equals("false")) {
                doubt = "the index does not keep all of _source";
            } else if (value.equals("semantic_text")) {
                doubt = "a semantic_text field may change documents";
            }
        }
        boolean isSynthetic = sourceMode.isEmpty() ? isSyntheticByMode : sourceMode.equals("synthetic");
        return new IndexTraits(isSynthetic ? "the index does not keep _source as it was sent" : doubt, isSynthetic);
    }
}
