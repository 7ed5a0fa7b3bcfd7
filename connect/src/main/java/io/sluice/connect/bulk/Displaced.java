package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Items that stand in each other's places. OpenSearch 3.8.0 and older releases of Elasticsearch answer what an ingest pipeline
 * dropped or failed in the order in which it was done with it; what was stored is in its place. Source: issue 101921 of
 * elastic/elasticsearch, and the answers of OpenSearch 3.8.0.
 */
final class Displaced {
    private final Map<Integer, String> ids = new TreeMap<>();

    void add(int item, String id) {
        ids.put(item, id);
    }

    boolean isEmpty() {
        return ids.isEmpty();
    }

    int first() {
        return ids.keySet().iterator().next();
    }

    /** The places of the displaced items by where they stand, {@code null} unless each has exactly one. */
    Map<Integer, Integer> places(List<Operation> operations) {
        Map<String, Integer> placesById = new HashMap<>();
        ids.keySet().forEach(item -> placesById.put(operations.get(item).idText(), item));
        Map<Integer, Integer> places = new TreeMap<>();
        ids.forEach((item, id) -> {
            Integer place = placesById.remove(id);
            if (place != null) {
                places.put(item, place);
            }
        });
        return places.size() == ids.size() ? places : null;
    }
}
