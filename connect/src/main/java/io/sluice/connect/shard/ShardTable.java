package io.sluice.connect.shard;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The shards of one index and the nodes that hold their primaries.
 *
 * @param primaries ids of these nodes by the shard's number, empty for a primary that is nowhere
 */
public record ShardTable(ShardRouting routing, List<String> primaries) {
    /** What a table is read from: an answer to {@code _cluster/state/metadata,routing_table}. */
    static final String WANTED = "metadata.indices.*.routing_num_shards,"
            + "metadata.indices.*.settings.index.number_of_shards,"
            + "metadata.indices.*.settings.index.routing_partition_size,"
            + "metadata.indices.*.settings.index.version.created,"
            + "metadata.indices.*.settings.index.routing_path,"
            + "metadata.indices.*.settings.index.mode,"
            + "metadata.indices.*.settings.index.logsdb.route_on_sort_fields,"
            + "metadata.indices.*.settings.index.number_of_virtual_shards,"
            + "routing_table.indices.*.shards.*.primary,"
            + "routing_table.indices.*.shards.*.node";

    /** An index of this version or a later one takes the remainder by its shards, whatever its routing shards are. */
    // IndexVersions.java of Elasticsearch 9.4: MOD_ROUTING_FUNCTION; used by IndexRouting.java.
    private static final int FIRST_BY_SHARDS = 9_064_000;

    /** The versions of OpenSearch have this bit. */
    // Version.java of OpenSearch: MASK.
    private static final int FIRST_OF_OPENSEARCH = 1 << 27;

    public static final ShardTable UNKNOWN = new ShardTable(ShardRouting.UNKNOWN, List.of());

    private static final Pattern OF_INDEX = Pattern.compile("/metadata/indices/([^/]+)/(.+)");
    private static final Pattern PRIMARY =
            Pattern.compile("/routing_table/indices/[^/]+/shards/(\\d{1,6})/\\d{1,6}/primary");

    /** The names of the indices that an answer is about, as they stand in JSON pointers. */
    static Set<String> indices(Map<String, String> scalars) {
        Set<String> names = new LinkedHashSet<>();
        scalars.keySet().forEach(at -> {
            Matcher ofIndex = OF_INDEX.matcher(at);
            if (ofIndex.matches()) {
                names.add(ofIndex.group(1));
            }
        });
        return names;
    }

    /** Reads the table of one index in an answer. */
    static ShardTable read(Map<String, String> scalars, String index) {
        String ofIndex = "/metadata/indices/" + index + "/";
        Map<String, String> metadata = new HashMap<>();
        scalars.forEach((at, value) -> {
            if (at.startsWith(ofIndex)) {
                metadata.put(at.substring(ofIndex.length()), value);
            }
        });
        ShardRouting routing = routing(metadata);
        if (routing.shards() == 0) {
            return UNKNOWN;
        }
        Map<Integer, String> nodes = primaries(index, scalars);
        return new ShardTable(
                routing,
                IntStream.range(0, routing.shards())
                        .mapToObj(shard -> nodes.getOrDefault(shard, ""))
                        .collect(Collectors.toList()));
    }

    /**
     * Time series, and logs by their sort fields, are placed by what stands in the documents; virtual shards of OpenSearch
     * by a formula of their own ({@code VirtualShardRoutingHelper.java}).
     */
    private static ShardRouting routing(Map<String, String> metadata) {
        boolean isByContents = metadata.keySet().stream().anyMatch(key -> key.startsWith("settings/index/routing_path"))
                || "time_series".equals(metadata.get("settings/index/mode"))
                || "true".equals(metadata.get("settings/index/logsdb/route_on_sort_fields"));
        int shards = number(metadata, "settings/index/number_of_shards", 0);
        int created = number(metadata, "settings/index/version/created", 0);
        boolean isByShards = created >= FIRST_BY_SHARDS && created < FIRST_OF_OPENSEARCH;
        ShardRouting routing = new ShardRouting(
                shards,
                isByShards ? shards : number(metadata, "routing_num_shards", 0),
                number(metadata, "settings/index/routing_partition_size", 1));
        boolean isVirtual = number(metadata, "settings/index/number_of_virtual_shards", 0) > 0;
        return isByContents || isVirtual || !routing.isPossible() ? ShardRouting.UNKNOWN : routing;
    }

    private static int number(Map<String, String> metadata, String key, int missing) {
        String text = metadata.getOrDefault(key, "");
        return text.matches("\\d{1,9}") ? Integer.parseInt(text) : missing;
    }

    private static Map<Integer, String> primaries(String index, Map<String, String> scalars) {
        Map<Integer, String> nodes = new HashMap<>();
        String ofIndex = "/routing_table/indices/" + index + "/";
        scalars.forEach((at, value) -> {
            if (!at.startsWith(ofIndex)) {
                return;
            }
            Matcher primary = PRIMARY.matcher(at);
            if (primary.matches() && "true".equals(value)) {
                String node = scalars.get(at.substring(0, at.lastIndexOf('/')) + "/node");
                nodes.put(Integer.parseInt(primary.group(1)), node == null ? "" : node);
            }
        });
        return nodes;
    }

    /** Whether several nodes hold primaries: otherwise it is all the same which documents share a request. */
    boolean isOfSeveralNodes() {
        return primaries.stream()
                        .filter(node -> !node.isEmpty())
                        .distinct()
                        .limit(2)
                        .count()
                > 1;
    }

    /** The id of the node that holds the primary of a shard, empty where it is not known. */
    public String nodeOf(int shard) {
        return shard == ShardRouting.NO_SHARD ? "" : primaries.get(shard);
    }
}
