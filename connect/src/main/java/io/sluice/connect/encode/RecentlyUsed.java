package io.sluice.connect.encode;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/** The values of the keys that were asked for last, made when they are missing. Not safe for several threads. */
final class RecentlyUsed<K, V> {
    private final int most;
    private final Function<K, V> make;
    private final Map<K, V> values = new LinkedHashMap<>(16, 0.75f, true);

    RecentlyUsed(int most, Function<K, V> make) {
        this.most = most;
        this.make = make;
    }

    V get(K key) {
        V value = values.get(key);
        if (value == null) {
            value = make.apply(key);
            if (values.size() == most) {
                values.remove(values.keySet().iterator().next());
            }
            values.put(key, value);
        }
        return value;
    }

    int size() {
        return values.size();
    }
}
