package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.metrics.Fate;
import io.sluice.connect.offset.Delivery;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.connect.errors.ConnectException;

/** Notes every decision, refuses a second one on the same record. */
final class NotedResults implements Results {
    final Map<Long, Fate> completed = new HashMap<>();
    final List<String> rejected = new ArrayList<>();
    final List<String> suspected = new ArrayList<>();
    final Set<String> parked = new HashSet<>();
    int parkings;
    final List<Long> revoked = new ArrayList<>();
    private final Map<Object, List<Long>> orderByKey = new HashMap<>();
    private final Set<Object> keys = new HashSet<>();
    ConnectException failure;

    @Override
    public void completed(List<Delivery> deliveries) {
        deliveries.forEach(this::completedOne);
    }

    private void completedOne(Delivery delivery) {
        assertNull(completed.put(delivery.origin().offset(), delivery.fate()), "completed twice");
        Object key = delivery.record().key();
        keys.add(key);
        orderByKey
                .computeIfAbsent(key, first -> new ArrayList<>())
                .add(delivery.origin().offset());
        delivery.completed();
    }

    void assertOrderPerKey(Map<Integer, Integer> lastByKey) {
        assertEquals(lastByKey.size(), keys.size());
        orderByKey
                .values()
                .forEach(offsets -> assertEquals(offsets.stream().sorted().collect(Collectors.toList()), offsets));
    }

    @Override
    public void rejected(Delivery delivery, int status, ItemError error) {
        rejected.add(delivery.origin().offset() + " " + status + " " + error.type());
    }

    @Override
    public void suspected(Delivery delivery, int status, ItemError error) {
        suspected.add(delivery.origin().offset() + " " + status + " " + error.type());
    }

    @Override
    public void parked(String target) {
        assertTrue(parked.add(target), "parked twice");
        parkings++;
    }

    @Override
    public void served(String target) {
        assertTrue(parked.remove(target), "was not parked");
    }

    @Override
    public void revoked(Delivery delivery) {
        revoked.add(delivery.origin().offset());
    }

    @Override
    public void failed(ConnectException cause) {
        failure = cause;
    }
}
