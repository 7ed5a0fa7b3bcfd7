package io.sluice.connect.offset;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.sluice.connect.metrics.SinkMetrics;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class PartitionOffsetsTest {
    /** A record that was read, and where it is completed. */
    private record Read(Stretch stretch, int place, long offset) {
        static Read of(PartitionOffsets offsets, long offset) {
            Stretch stretch = offsets.read(offset);
            return new Read(stretch, stretch.lastPlace(), offset);
        }

        void decide() {
            stretch.complete(place);
        }
    }

    /** With nothing incomplete the offset after the last record read may be committed. */
    @Test
    void theOffsetAfterTheLastCompletedRecordIsCommittable() {
        PartitionOffsets offsets = new PartitionOffsets(new SinkMetrics().ledgerOf("t", 0));
        Read first = Read.of(offsets, 41);
        Read second = Read.of(offsets, 43);
        assertEquals(41, offsets.committable());
        second.decide();
        assertEquals(41, offsets.committable());
        first.decide();
        assertEquals(44, offsets.committable());
    }

    /** Whatever the order of results, the committable offset is that of the smallest incomplete record. */
    @Test
    void randomInterleavingsAgreeWithANaiveModel() {
        for (int seed = 0; seed < 53; seed++) {
            Random random = new Random(seed);
            PartitionOffsets offsets = new PartitionOffsets(new SinkMetrics().ledgerOf("t", 0));
            TreeSet<Long> model = new TreeSet<>();
            List<Read> incomplete = new ArrayList<>();
            long next = random.nextInt(1000);
            for (int step = 0; step < 10_007; step++) {
                if (incomplete.isEmpty() || random.nextInt(100) < 50 + seed % 7) {
                    next += random.nextInt(10) == 0 ? random.nextInt(100_000) : 0;
                    incomplete.add(Read.of(offsets, next));
                    model.add(next++);
                } else {
                    Read any = incomplete.remove(random.nextInt(incomplete.size()));
                    any.decide();
                    model.remove(any.offset);
                }
                assertEquals(model.isEmpty() ? next : model.first(), offsets.committable());
                assertEquals(model.size(), offsets.incomplete());
            }
        }
    }

    /** A record that is completed twice is a bug that must show. */
    @Test
    void decidingTwiceIsRefused() {
        PartitionOffsets offsets = new PartitionOffsets(new SinkMetrics().ledgerOf("t", 0));
        Read only = Read.of(offsets, 7);
        only.decide();
        Exception refusal = assertThrows(IllegalStateException.class, only::decide);
        assertEquals("record completed twice: offset 7", refusal.getMessage());
    }

    /** Records of one stretch that several threads decide at once are all completed. */
    @Test
    void threadsDecideSideBySide() throws InterruptedException {
        PartitionOffsets offsets = new PartitionOffsets(new SinkMetrics().ledgerOf("t", 0));
        List<List<Read>> shares = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        for (int offset = 0; offset < 30_011; offset++) {
            shares.get(offset % shares.size()).add(Read.of(offsets, offset));
        }
        List<Thread> threads = shares.stream()
                .map(share -> new Thread(() -> share.forEach(Read::decide)))
                .toList();
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(0, offsets.incomplete());
        assertEquals(30_011, offsets.committable());
    }
}
