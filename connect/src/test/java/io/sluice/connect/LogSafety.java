package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** After every test of a class: no log line holds a secret that a setting gave, or anything of a document. */
final class LogSafety implements BeforeEachCallback, AfterEachCallback {
    /** Stands in every document that {@link TaskHarness} makes, bad ones included. */
    static final String DOCUMENT = "document-marker";

    private static final Logger OURS = Logger.getLogger("io.sluice");
    private static final Set<String> SECRETS = new TreeSet<>();

    private CapturedLog log;

    /** From here on no log line may hold this. */
    static synchronized void keep(String secret) {
        SECRETS.add(secret);
    }

    @Override
    public void beforeEach(ExtensionContext test) {
        OURS.setLevel(Level.ALL);
        log = new CapturedLog();
    }

    @Override
    public void afterEach(ExtensionContext test) {
        log.close();
        OURS.setLevel(null);
        assertEquals(List.of(), log.linesWith(DOCUMENT));
        synchronized (LogSafety.class) {
            SECRETS.forEach(secret -> assertEquals(List.of(), log.linesWith(secret)));
        }
    }
}
