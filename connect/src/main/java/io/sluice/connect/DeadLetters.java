package io.sluice.connect;

import io.sluice.connect.config.ErrantRecords;
import io.sluice.connect.offset.Delivery;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkTaskContext;

/** Hands records to the worker's dead-letter queue and tells when they have arrived there. */
final class DeadLetters {
    private static final String WORKERS_REPORTER = "org.apache.kafka.connect.runtime.errors.WorkerErrantRecordReporter";
    private static final int LONGEST_REASON = 1_000;
    private static final int ATTEMPTS = 2;

    private final ErrantRecordReporter reporter;
    private final Supplier<OptionalLong> lettersFailed;
    private final boolean logged;
    private final List<Pending> pending = new ArrayList<>();

    private record Pending(Delivery delivery, Future<Void> arrival) {}

    private DeadLetters(ErrantRecordReporter reporter, Supplier<OptionalLong> lettersFailed, boolean logged) {
        this.reporter = reporter;
        this.lettersFailed = lettersFailed;
        this.logged = logged;
    }

    /** The worker's reporter may be a mere log, or throw at the first record: only the settings tell. */
    static DeadLetters of(SinkTaskContext context, Map<String, String> settings) {
        ErrantRecordReporter reporter = ErrantRecords.haveAQueue(settings) ? context.errantRecordReporter() : null;
        WorkerMetrics worker = WorkerMetrics.of(settings);
        return new DeadLetters(reporter, worker::lettersFailed, ErrantRecords.areLogged(settings));
    }

    /** Whether the worker has somewhere to put rejected records. */
    boolean isAvailable() {
        return reporter != null;
    }

    /**
     * Reports a record; the reason goes into the header of the dead letter.
     *
     * @param summary what is left of the reason where the worker logs it, since it may quote the document
     */
    void report(Delivery delivery, String summary, String fullReason) {
        String reason = logged ? summary : fullReason;
        String text = reason.length() > LONGEST_REASON ? reason.substring(0, LONGEST_REASON) + "…" : reason;
        Future<Void> arrival = sent(delivery, new RejectedRecordException(delivery.origin() + ": " + text));
        synchronized (pending) {
            pending.add(new Pending(delivery, arrival));
        }
    }

    private Future<Void> sent(Delivery delivery, Exception rejection) {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            OptionalLong failedBefore = lettersFailed.get();
            Future<Void> arrival = reporter.report(delivery.record(), rejection);
            if (!wasDoneAtOnce(arrival) || failedBefore.isPresent() && failedBefore.equals(lettersFailed.get())) {
                return arrival;
            }
        }
        throw new ConnectException("the producer refused it at once; it may be larger than the producer's"
                + " max.request.size, or the topic may be missing or forbidden");
    }

    /**
     * Connect's own reporter drops what is done when it looks, arrived or refused, and then returns a bare completed
     * future. Which of the two it was, only the worker's count tells; without that, a letter may be written twice.
     */
    private boolean wasDoneAtOnce(Future<Void> arrival) {
        boolean isWorkers = reporter.getClass().getName().equals(WORKERS_REPORTER);
        return isWorkers && arrival instanceof CompletableFuture;
    }

    /** Removes and returns the records that have arrived; one that did not is a ConnectException. */
    List<Delivery> takeArrived() {
        List<Delivery> arrived = new ArrayList<>();
        synchronized (pending) {
            for (Iterator<Pending> all = pending.iterator(); all.hasNext(); ) {
                Pending next = all.next();
                if (next.arrival().isDone()) {
                    requireArrival(next);
                    arrived.add(next.delivery());
                    all.remove();
                }
            }
        }
        return arrived;
    }

    boolean areAllArrived() {
        synchronized (pending) {
            return pending.isEmpty();
        }
    }

    private static void requireArrival(Pending letter) {
        try {
            letter.arrival().get();
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
            throw new ConnectException(letter.delivery().origin() + ": interrupted", interrupt);
        } catch (ExecutionException | CancellationException lost) {
            throw new ConnectException(
                    letter.delivery().origin() + ": the dead-letter queue did not take the record", lost);
        }
    }
}
