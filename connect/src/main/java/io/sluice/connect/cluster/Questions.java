package io.sluice.connect.cluster;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Asks one after the other, all within one time. */
final class Questions {
    private final ClusterClient client;
    private final long longestMs;
    private final long deadline;

    Questions(ClusterClient client, long longestMs) {
        this.client = client;
        this.longestMs = longestMs;
        this.deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(longestMs);
    }

    /** The answer, whatever its status, of the first node that gives one. */
    Answer ask(ClusterRequest request) throws Unanswered {
        while (true) {
            try {
                Answer answer = askOne(request);
                if (!answer.isUnavailable() || !client.hasLivingNode()) {
                    return answer;
                }
            } catch (Unanswered failed) {
                if (!client.hasLivingNode() || System.nanoTime() - deadline >= 0) {
                    throw failed;
                }
            }
        }
    }

    private Answer askOne(ClusterRequest request) throws Unanswered {
        CompletableFuture<Answer> coming = new CompletableFuture<>();
        client.send(request, new ClusterClient.Listener() {
            @Override
            public Runnable read(Answer answer) {
                return () -> coming.complete(answer);
            }

            @Override
            public void unanswered(String node, Exception cause) {
                coming.completeExceptionally(cause);
            }
        });
        try {
            return coming.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException late) {
            throw new Unanswered("nothing within " + longestMs + " ms", late);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
            throw new Unanswered("interrupted", interrupt);
        } catch (ExecutionException failed) {
            Throwable root = failed.getCause();
            while (root.getCause() != null) {
                root = root.getCause();
            }
            throw new Unanswered(ClusterClient.words(root), failed);
        }
    }
}
