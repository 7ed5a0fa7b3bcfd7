package io.sluice.connect.metrics;

import java.util.Arrays;
import java.util.Locale;

/** What became of the records of one partition; changed and read under the lock of its {@link SinkMetrics}. */
public final class PartitionLedger {
    private static final String[] NAMES = Arrays.stream(Fate.values())
            .map(fate -> fate.name().toLowerCase(Locale.ROOT))
            .toArray(String[]::new);

    private final long[] recordsByFate = new long[Fate.values().length];
    private long read;

    void read(int records) {
        read += records;
    }

    void dropped(long records) {
        read += records;
        recordsByFate[Fate.DROPPED.ordinal()] += records;
    }

    void completed(Fate fate) {
        recordsByFate[fate.ordinal()]++;
    }

    /** {@code {"read": R, "indexed": …, "in_flight": …}}. */
    void appendJson(StringBuilder json) {
        json.append("{\"read\":").append(read);
        long inFlight = read;
        for (int fate = 0; fate < NAMES.length; fate++) {
            json.append(",\"").append(NAMES[fate]).append("\":").append(recordsByFate[fate]);
            inFlight -= recordsByFate[fate];
        }
        json.append(",\"in_flight\":").append(inFlight).append('}');
    }
}
