package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class SightingsTest {
    private static final long VALID_NANOS = 1_000_000_000;

    private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 7);
    private final Sightings sightings = new Sightings(now::get);

    /** A target counts as there for a second after it was seen, also when the clock runs over. */
    @Test
    void aSightingIsGoodForOneSecond() {
        assertFalse(sightings.areFreshOf("books"));
        sightings.add("books");
        now.addAndGet(VALID_NANOS);
        assertTrue(sightings.areFreshOf("books"));
        now.incrementAndGet();
        assertFalse(sightings.areFreshOf("books"));
        sightings.add("books");
        assertTrue(sightings.areFreshOf("books"));
    }

    /** Of a new index every ten minutes only the last is remembered. */
    @Test
    void oldSightingsAreForgotten() {
        for (int i = 0; i < 1_009; i++) {
            now.addAndGet(600 * VALID_NANOS);
            sightings.add("books-" + i);
        }
        assertEquals(1, sightings.size());
    }

    /** A sighting stays while others are added beside it. */
    @Test
    void sightingsStayBesideEachOther() {
        sightings.add("books");
        sightings.add("others");
        assertTrue(sightings.areFreshOf("books"));
    }
}
