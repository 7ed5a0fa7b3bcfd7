package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
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
            List<String> wrong = new ArrayList<>();
            int refused = 0;
            for (long seed = SEED; seed < SEED + COUNT && wrong.size() < MOST_SHOWN; seed++) {
                History history = new History(seed);
                if (history.refusal() != null) {
                    refused++;
                    continue;
                }
                String offence = history.run();
                if (offence != null) {
                    wrong.add("\n-Dhistory.seed=" + history + "\n" + offence);
                }
            }
            assertEquals(List.of(), wrong);
            assertTrue(refused <= COUNT / 3, refused + " of " + COUNT + " settings are refused");
        } finally {
            connect.setLevel(before);
        }
    }
}
