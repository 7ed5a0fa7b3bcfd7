package io.sluice.connect.offset;

import static io.sluice.connect.offset.PartitionEnd.Place.BEYOND;
import static io.sluice.connect.offset.PartitionEnd.Place.UNDECIDED;
import static io.sluice.connect.offset.PartitionEnd.Place.WITHIN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PartitionEndTest {
    private static final long DOUBT = PartitionEnd.LONGEST_DOUBT_NANOS;
    private final PartitionEnd end = new PartitionEnd();

    private static OptionalLong lag(long records) {
        return OptionalLong.of(records);
    }

    /** What was read is within; nobody is asked for it. */
    @Test
    void whatWasReadIsWithin() {
        end.read(96);
        assertEquals(WITHIN, end.placeOf(96, 0));
        assertFalse(end.isAsked());
        assertEquals(UNDECIDED, end.placeOf(97, 0));
        assertTrue(end.isAsked());
    }

    /** Records that wait to be read are within, and so are those that transformations filtered out. */
    @Test
    void whatWaitsIsWithin() {
        end.read(10);
        assertEquals(UNDECIDED, end.placeOf(996, 0));
        end.sampled(500, lag(497), 0);
        assertEquals(WITHIN, end.placeOf(996, 0));
        assertEquals(UNDECIDED, end.placeOf(997, 0));
    }

    /** Only a sample some seconds later says beyond; what came meanwhile is within. */
    @Test
    void beyondIsSaidOnlyLater() {
        end.read(10);
        assertEquals(UNDECIDED, end.placeOf(97, 1));
        end.sampled(11, lag(0), DOUBT);
        assertEquals(UNDECIDED, end.placeOf(97, DOUBT));
        end.sampled(11, lag(0), DOUBT + 1);
        assertEquals(BEYOND, end.placeOf(97, DOUBT + 1));
        assertEquals(BEYOND, end.placeOf(11, DOUBT + 1));
        assertEquals(WITHIN, end.placeOf(10, DOUBT + 1));
        assertFalse(end.isAsked());
        assertEquals(UNDECIDED, end.placeOf(97, DOUBT + 1 + PartitionEnd.VALID_NANOS));
    }

    /** Whoever read the partition before, or beside this task, may have seen more of it; then it comes into sight. */
    @Test
    void whatAnotherReaderSawFirstIsNotBeyond() {
        end.read(10);
        assertEquals(UNDECIDED, end.placeOf(12, 0));
        end.sampled(11, lag(0), 1);
        end.sampled(11, lag(3), DOUBT + 1);
        assertEquals(WITHIN, end.placeOf(12, DOUBT + 1));
        assertFalse(end.isAsked());
        // A doubt that is over does not count for the next.
        assertEquals(UNDECIDED, end.placeOf(20, DOUBT + 2));
        end.sampled(11, lag(3), DOUBT + 3);
        assertEquals(UNDECIDED, end.placeOf(20, DOUBT + 3));
    }

    /** Where the consumer tells no lag, nothing is said, and a lag that comes later counts. */
    @Test
    void withoutALagNothingIsSaid() {
        end.read(10);
        assertEquals(UNDECIDED, end.placeOf(97, 0));
        end.sampled(11, OptionalLong.empty(), DOUBT);
        assertEquals(WITHIN, end.placeOf(97, DOUBT));
        assertFalse(end.isAsked());
        long later = DOUBT + PartitionEnd.VALID_NANOS;
        assertEquals(UNDECIDED, end.placeOf(97, later));
        end.sampled(11, lag(0), later + DOUBT);
        assertEquals(BEYOND, end.placeOf(97, later + DOUBT));
    }

    /** A consumer that goes back reads another topic of the same name, whose end is another one. */
    @Test
    void aTopicThatIsCreatedAgainHasAnEndOfItsOwn() {
        end.read(999);
        assertEquals(UNDECIDED, end.placeOf(1_000, 0));
        end.sampled(1_000, lag(1_000), 0);
        end.read(4);
        assertEquals(WITHIN, end.placeOf(1_500, 1));
        assertEquals(UNDECIDED, end.placeOf(2_000, 1));
        end.sampled(5, lag(0), 1);
        assertEquals(UNDECIDED, end.placeOf(1_500, 1));
    }

    /**
     * A topic that is written, read, compacted, read again from anywhere, by one task or several, with samples at any time:
     * no offset of the topic is ever beyond its end.
     */
    @Test
    void noOffsetOfTheTopicIsEverBeyond() {
        Random random = new Random(41);
        for (int history = 0; history < 503; history++) {
            long written = 1 + random.nextInt(50);
            long next = 0;
            long lagAtFetch = written;
            long now = 0;
            PartitionEnd reader = new PartitionEnd();
            for (int step = 0; step < 200; step++) {
                now += random.nextInt(1_000) * 1_000_000L;
                long before = written;
                switch (random.nextInt(5)) {
                    case 0 -> written += random.nextInt(20);
                    case 1, 2 -> {
                        // Some of what is passed over was compacted away or filtered out.
                        next = Math.min(written, next + random.nextInt(10));
                        lagAtFetch = written - next;
                        if (next > 0 && random.nextBoolean()) {
                            reader.read(next - 1);
                        }
                    }
                    case 3 -> reader.sampled(next, lag(lagAtFetch), now);
                    default -> {
                        if (random.nextInt(20) == 0) {
                            reader = new PartitionEnd();
                            next = random.nextInt((int) written);
                            lagAtFetch = written - next;
                        }
                        // What is stored was read by somebody before this consumer fetched last.
                        long stored = random.nextInt((int) Math.min(before, next + lagAtFetch));
                        assertTrue(reader.placeOf(stored, now) != BEYOND, history + ", " + step);
                    }
                }
            }
        }
    }
}
