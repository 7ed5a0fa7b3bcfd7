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
    /** With nothing undecided the offset after the last record read may be committed. */
    @Test
    void theOffsetAfterTheLastDecidedRecordIsCommittable() {
        PartitionOffsets offsets = new PartitionOffsets(new SinkMetrics().ledgerOf("t", 0));
        long first = offsets.read(41);
        long second = offsets.read(43);
        assertEquals(41, offsets.committable());
        offsets.decided(second);
        assertEquals(41, offsets.committable());
        offsets.decided(first);
        assertEquals(44, offsets.committable());
    }

    /** Whatever the order of decisions, the committable offset is that of the smallest undecided record. */
    @Test
    void randomInterleavingsAgreeWithANaiveModel() {
        for (int seed = 0; seed < 53; seed++) {
            Random random = new Random(seed);
            PartitionOffsets offsets = new PartitionOffsets(new SinkMetrics().ledgerOf("t", 0));
            TreeSet<Long> model = new TreeSet<>();
            List<long[]> undecided = new ArrayList<>();
            long next = random.nextInt(1000);
            for (int step = 0; step < 10_007; step++) {
                if (undecided.isEmpty() || random.nextInt(100) < 50 + seed % 7) {
                    next += random.nextInt(10) == 0 ? random.nextInt(100_000) : 0;
                    undecided.add(new long[] {offsets.read(next), next});
                    model.add(next++);
                } else {
                    long[] any = undecided.remove(random.nextInt(undecided.size()));
                    offsets.decided(any[0]);
                    model.remove(any[1]);
                }
                assertEquals(model.isEmpty() ? next : model.first(), offsets.committable());
                assertEquals(model.size(), offsets.undecided());
            }
        }
    }

    /** A record that is decided twice is a bug that must show. */
    @Test
    void decidingTwiceIsRefused() {
        PartitionOffsets offsets = new PartitionOffsets(new SinkMetrics().ledgerOf("t", 0));
        long only = offsets.read(7);
        offsets.decided(only);
        Exception refusal = assertThrows(IllegalStateException.class, () -> offsets.decided(only));
        assertEquals("record decided twice or never read: sequence 0", refusal.getMessage());
    }
}
