package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/**
 * Whatever happens on the way, what is stored in the end is what the records say. {@code -Dhistory.seed=N} repeats one
 * history, {@code -Dhistory.count=N} tries so many.
 */
class HistoriesTest {
    private static final long SEED = Long.getLong("history.seed", 0);
    private static final int COUNT = Integer.getInteger("history.count", SEED == 0 ? 2_003 : 1);
    private static final int MOST_SHOWN = 5;

    /** In every history the cluster ends with what the model says, and the dead-letter queue with all bad documents. */
    @Test
    void whatIsStoredIsWhatTheRecordsSay() {
        Logger connect = Logger.getLogger("");
        Level before = connect.getLevel();
        connect.setLevel(Level.OFF);
        try {
            List<String> wrong = Collections.synchronizedList(new ArrayList<>());
            AtomicInteger refused = new AtomicInteger();
            LongStream.range(SEED, SEED + COUNT)
                    .parallel()
                    .filter(seed -> wrong.size() < MOST_SHOWN)
                    .mapToObj(History::new)
                    .forEach(history -> {
                        if (history.refusal() != null) {
                            refused.incrementAndGet();
                            return;
                        }
                        String offence = history.run();
                        if (offence != null) {
                            wrong.add("\n-Dhistory.seed=" + history + "\n" + offence);
                        }
                    });
            assertEquals(List.of(), wrong);
            assertTrue(refused.get() <= COUNT / 3, refused + " of " + COUNT + " settings are refused");
        } finally {
            connect.setLevel(before);
        }
    }
}
