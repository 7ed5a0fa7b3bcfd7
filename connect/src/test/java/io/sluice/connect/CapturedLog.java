package io.sluice.connect;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.stream.Collectors;

/** What this process logs, exceptions with their causes included: ours as far as its level goes, others' from INFO on. */
final class CapturedLog extends Handler implements AutoCloseable {
    private final List<String> lines = new ArrayList<>();
    private final SimpleFormatter formatter = new SimpleFormatter();

    CapturedLog() {
        setLevel(Level.ALL);
        Logger.getLogger("").addHandler(this);
    }

    @Override
    public synchronized void publish(LogRecord record) {
        lines.add(formatter.format(record));
    }

    synchronized List<String> linesWith(String text) {
        return lines.stream().filter(line -> line.contains(text)).collect(Collectors.toList());
    }

    @Override
    public void flush() {
        // Lines are kept at once.
    }

    @Override
    public void close() {
        Logger.getLogger("").removeHandler(this);
    }
}
