package io.sluice.connect;

import io.sluice.connect.bulk.ItemError;
import io.sluice.connect.bulk.Results;
import io.sluice.connect.config.OnMalformedDocuments;
import io.sluice.connect.encode.Documents;
import io.sluice.connect.metrics.Fate;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.time.Timers;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.apache.kafka.connect.errors.ConnectException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The last station of every record: counts what became of it, makes room, and lets its offset be committed. */
final class Settlement implements Results {
    private static final Logger LOG = LoggerFactory.getLogger(Settlement.class);
    private static final long DEAD_LETTER_CHECK_MS = 50;

    private final OnMalformedDocuments onMalformed;
    private final DeadLetters deadLetters;
    private final Backlog backlog;
    private final SinkMetrics metrics;
    private final Timers reporter;
    private final LongSupplier epochMicros;
    private final AtomicReference<ConnectException> failure = new AtomicReference<>();

    /** @param reporter one thread of its own, on which dead letters are handed over and awaited */
    Settlement(
            OnMalformedDocuments onMalformed,
            DeadLetters deadLetters,
            Backlog backlog,
            SinkMetrics metrics,
            Timers reporter,
            LongSupplier epochMicros) {
        this.onMalformed = onMalformed;
        this.deadLetters = deadLetters;
        this.backlog = backlog;
        this.metrics = metrics;
        this.reporter = reporter;
        this.epochMicros = epochMicros;
    }

    @Override
    public void completed(List<Delivery> deliveries) {
        long nowMicros = epochMicros.getAsLong();
        deliveries.forEach(Delivery::completed);
        // Only then: whoever sees in the metrics that all are completed finds them committable, too.
        metrics.inOneStep(() -> deliveries.forEach(delivery -> count(delivery, ageMicros(delivery, nowMicros))));
        backlog.leave(deliveries);
    }

    private static long ageMicros(Delivery delivery, long nowMicros) {
        long dueMicros = delivery.intendedSendTimeMicros();
        return dueMicros < 0 ? -1 : Math.max(0, nowMicros - dueMicros);
    }

    private void count(Delivery delivery, long ageMicros) {
        metrics.recordCompleted(delivery.ledger(), delivery.fate(), delivery.sourceBytes(), ageMicros);
    }

    @Override
    public void rejected(Delivery delivery, int status, ItemError error) {
        String summary = "status " + status + " " + error.type();
        if (error.isIdConflict()) {
            metrics.recordConflicted();
            String whole = summary + ": " + error.reason();
            malformed(delivery, whole, whole);
            return;
        }
        String fault = Documents.faultOf(delivery.record());
        if (fault == null) {
            // The reason may quote the document: it goes to the dead-letter queue only.
            malformed(delivery, summary, summary + ": " + error.reason());
        } else {
            String where = summary + ": " + fault;
            malformed(delivery, where, where);
        }
    }

    /** What is only suspected is never dropped: it goes to the dead-letter queue, or ends the work. */
    @Override
    public void suspected(Delivery delivery, int status, ItemError error) {
        if (onMalformed != OnMalformedDocuments.FAIL && deadLetters.isAvailable()) {
            rejected(delivery, status, error);
            return;
        }
        String reason = error.isAboutAccess() ? ": " + error.reason() : "";
        failed(new ConnectException(delivery.origin() + ": status " + status + " " + error.type() + reason
                + " each time, while other documents for " + delivery.target() + " are stored; with "
                + "behavior.on.malformed.documents=report and a dead-letter queue the document would go there"));
    }

    @Override
    public void parked(String target) {
        backlog.park(target);
    }

    @Override
    public void served(String target) {
        backlog.restore(target);
    }

    /** A record that is no document: {@code summary} may be logged, {@code reason} may quote content. */
    void malformed(Delivery delivery, String summary, String reason) {
        if (onMalformed == OnMalformedDocuments.FAIL) {
            failed(new ConnectException(
                    delivery.origin() + ": " + summary + "; behavior.on.malformed.documents=fail stops the task here"));
            return;
        }
        if (onMalformed == OnMalformedDocuments.WARN) {
            LOG.warn("{}: {}", delivery.origin(), summary);
        }
        if (deadLetters.isAvailable()) {
            report(delivery, summary, reason);
        } else {
            dropped(delivery);
        }
    }

    /** Hands the record on: the worker's converter and producer may block, which no I/O thread must. */
    private void report(Delivery delivery, String summary, String reason) {
        reporter.after(0, () -> reportNow(delivery, summary, reason));
    }

    private void reportNow(Delivery delivery, String summary, String reason) {
        try {
            boolean isFirst = deadLetters.areAllArrived();
            deadLetters.report(delivery, summary, reason);
            if (isFirst) {
                reporter.after(DEAD_LETTER_CHECK_MS, this::settleDeadLetters);
            }
        } catch (RuntimeException refused) {
            failed(new ConnectException(delivery.origin() + ": the dead-letter queue refused the record", refused));
        }
    }

    /** Decides the records that have arrived in the dead-letter queue; looks again later while some have not. */
    private void settleDeadLetters() {
        deadLetters.takeArrived().forEach(delivery -> settle(delivery, Fate.DEAD_LETTERED));
        if (!deadLetters.areAllArrived()) {
            reporter.after(DEAD_LETTER_CHECK_MS, this::settleDeadLetters);
        }
    }

    /** Completes a record that the configuration drops. */
    void dropped(Delivery delivery) {
        settle(delivery, Fate.DROPPED);
    }

    @Override
    public void revoked(Delivery delivery) {
        metrics.recordRevoked(delivery.ledger());
        backlog.leave(List.of(delivery));
    }

    /** A record that was not indexed: it counts, but its age does not. */
    private void settle(Delivery delivery, Fate fate) {
        delivery.setFate(fate);
        delivery.completed();
        count(delivery, -1);
        backlog.leave(List.of(delivery));
    }

    @Override
    public void failed(ConnectException cause) {
        failure.compareAndSet(null, cause);
        backlog.wake();
    }

    /** Fails the task after an exception in a delayed call, whose work nobody else would do. */
    void failed(Throwable thrown) {
        failed(thrown instanceof ConnectException known ? known : new ConnectException(thrown.toString(), thrown));
    }

    boolean hasFailed() {
        return failure.get() != null;
    }

    /** Throws what ended the work, if anything did. */
    void throwFailure() {
        ConnectException cause = failure.get();
        if (cause != null) {
            throw new ConnectException(cause.getMessage(), cause);
        }
    }
}
