package io.sluice.connect.bulk;

import io.sluice.connect.bulk.BulkAnswer.Place;
import io.sluice.connect.cluster.Answer;
import io.sluice.connect.cluster.ClusterClient;
import io.sluice.connect.encode.Operation;
import io.sluice.connect.encode.Operation.Kind;
import io.sluice.connect.offset.PartitionEnd;
import io.sluice.connect.stored.IndexTraits;
import io.sluice.connect.stored.StoredDocument;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;

/** What is asked because of one answer, question after question, until the outcome of each of its items is known. */
final class ConflictInquiry {
    /** What one question asks for at most: the answer holds about as many bytes as were sent. */
    private static final int MOST_ASKED = 500;

    private static final long MOST_ASKED_BYTES = 1 << 20;

    private static final int SERVER_ERROR = 500;
    /** A request that did not come in time, and too many of them. */
    private static final Set<Integer> PASSING = Set.of(408, 429);

    private static final int UNAUTHORIZED = 401;
    private static final int FORBIDDEN = 403;

    private final ConflictCheck check;
    private final Bulk bulk;
    private final BulkAnswer answer;
    private final BulkClient.Listener listener;
    private final Queue<Conflict> toAsk = new ArrayDeque<>();
    private final Queue<Known> toJudge = new ArrayDeque<>();

    private record Known(Conflict conflict, StoredDocument stored) {}

    ConflictInquiry(ConflictCheck check, Bulk bulk, BulkAnswer answer, BulkClient.Listener listener) {
        this.check = check;
        this.bulk = bulk;
        this.answer = answer;
        this.listener = listener;
    }

    void begin() {
        guarded(() -> {
            List<Operation> operations = bulk.operations();
            answer.conflicts().forEach((item, place) -> consider(item, operations.get(item), place));
            goOn();
        });
    }

    /** A bug must not reach the client's I/O thread. */
    private void guarded(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error bug) {
            listener.unanswered(bulk, new IOException("cannot check a conflict", bug));
        }
    }

    /** Upserts are sent again; versions from a header say nothing of the document that has them. */
    private void consider(int item, Operation operation, Place place) {
        Kind kind = operation.kind();
        boolean isKeyed = kind != Kind.CREATE && operation.hasId();
        if (kind == Kind.UPDATE || isKeyed && !check.rules().areVersionsOffsets()) {
            return;
        }
        long current = Outcome.currentVersion(answer.error(item));
        if (!isKeyed || current <= operation.version()) {
            toAsk.add(new Conflict(item, operation, place, false));
            return;
        }
        PartitionEnd.Place where = operation.delivery().end().placeOf(current, check.nanoTime());
        if (where == PartitionEnd.Place.UNDECIDED) {
            answer.decide(item, Outcome.AGAIN);
        } else if (where == PartitionEnd.Place.BEYOND) {
            toAsk.add(new Conflict(item, operation, place, true));
        }
    }

    private void goOn() {
        String unknownIndex = judge();
        if (unknownIndex != null) {
            check.client().send(IndexTraits.question(unknownIndex), new Traits(unknownIndex));
        } else if (toAsk.isEmpty()) {
            listener.answered(bulk, answer);
        } else {
            askForDocuments();
        }
    }

    /** Judges what can be; returns the index whose traits are wanted, or {@code null}. */
    private String judge() {
        while (!toJudge.isEmpty()) {
            Conflict conflict = toJudge.peek().conflict();
            String index = conflict.place().index();
            ConflictVerdict verdict =
                    check.rules().judge(conflict, toJudge.peek().stored(), check.traitsOf(index));
            if (verdict == ConflictVerdict.DEPENDS_ON_INDEX) {
                return index;
            }
            toJudge.remove();
            check.note(bulk, answer, conflict, verdict);
        }
        return null;
    }

    private void askForDocuments() {
        List<Conflict> asked = new ArrayList<>();
        long bytes = 0;
        do {
            asked.add(toAsk.remove());
            bytes += asked.get(asked.size() - 1).operation().bodyBytes();
        } while (!toAsk.isEmpty()
                && asked.size() < MOST_ASKED
                && bytes + toAsk.peek().operation().bodyBytes() <= MOST_ASKED_BYTES);
        check.client().send(StoredDocuments.question(asked), new Documents(asked));
    }

    /** Hears what became of a question. */
    private abstract class Heard implements ClusterClient.Listener {
        @Override
        public final Runnable read(Answer heard) throws IOException {
            if (heard.status() >= SERVER_ERROR || PASSING.contains(heard.status())) {
                ItemError error = BulkAnswer.readError(heard.content());
                return () -> {
                    bulk.setHost(heard.node());
                    listener.refused(bulk, heard.status(), error);
                };
            }
            Runnable step = understood(heard);
            return () -> guarded(() -> {
                step.run();
                goOn();
            });
        }

        abstract Runnable understood(Answer heard) throws IOException;

        @Override
        public final void unanswered(String node, Exception cause) {
            bulk.setHost(node);
            listener.unanswered(bulk, cause);
        }
    }

    private final class Documents extends Heard {
        private final List<Conflict> asked;

        Documents(List<Conflict> asked) {
            this.asked = asked;
        }

        @Override
        Runnable understood(Answer heard) throws IOException {
            List<StoredDocument> stored =
                    heard.isSuccess() ? StoredDocuments.read(heard.content(), asked) : unavailable(heard.status());
            return () -> {
                for (int i = 0; i < asked.size(); i++) {
                    toJudge.add(new Known(asked.get(i), stored.get(i)));
                }
            };
        }

        private List<StoredDocument> unavailable(int status) {
            boolean isAboutAccess = status == UNAUTHORIZED || status == FORBIDDEN;
            StoredDocument none = StoredDocument.unavailable(isAboutAccess ? "security_exception" : "status " + status);
            return asked.stream().map(conflict -> none).toList();
        }
    }

    private final class Traits extends Heard {
        private final String index;

        Traits(String index) {
            this.index = index;
        }

        @Override
        Runnable understood(Answer heard) throws IOException {
            if (heard.isSuccess() && !heard.isObject()) {
                throw new IOException("the answer about an index is no JSON object");
            }
            IndexTraits traits = IndexTraits.of(heard);
            return () -> check.note(index, traits);
        }
    }
}
