package io.sluice.connect.encode;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RecentlyUsedTest {
    /** Only so many values are kept, and the one that was not asked for longest goes. */
    @Test
    void theOneThatWasNotAskedForLongestGoes() {
        List<Integer> made = new ArrayList<>();
        RecentlyUsed<Integer, String> recent = new RecentlyUsed<>(3, key -> {
            made.add(key);
            return "value of " + key;
        });
        for (int key : new int[] {1, 2, 3, 1, 4, 1, 2}) {
            assertEquals("value of " + key, recent.get(key));
        }
        assertEquals(List.of(1, 2, 3, 4, 2), made);
        for (int key = 0; key < 1_009; key++) {
            recent.get(key);
        }
        assertEquals(3, recent.size());
    }
}
