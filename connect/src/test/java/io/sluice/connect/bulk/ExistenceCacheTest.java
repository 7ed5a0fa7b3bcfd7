package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ExistenceCacheTest {
    private static final long VALID_NANOS = 1_000_000_000;

    private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 7);
    private final ExistenceCache existing = new ExistenceCache(now::get);

    /** A target counts as there for a second after it was seen, also when the clock runs over. */
    @Test
    void aSightingIsGoodForOneSecond() {
        assertFalse(existing.areFreshOf("books"));
        existing.add("books");
        now.addAndGet(VALID_NANOS);
        assertTrue(existing.areFreshOf("books"));
        now.incrementAndGet();
        assertFalse(existing.areFreshOf("books"));
        existing.add("books");
        assertTrue(existing.areFreshOf("books"));
    }

    /** Of a new index every ten minutes only the last is remembered. */
    @Test
    void oldExistenceCacheAreForgotten() {
        for (int i = 0; i < 1_009; i++) {
            now.addAndGet(600 * VALID_NANOS);
            existing.add("books-" + i);
        }
        assertEquals(1, existing.size());
    }

    /** A sighting stays while others are added beside it. */
    @Test
    void existingStayBesideEachOther() {
        existing.add("books");
        existing.add("others");
        assertTrue(existing.areFreshOf("books"));
    }
}
