package io.sluice.connect.cluster;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.http.util.EntityUtils;
import org.elasticsearch.client.Cancellable;
import org.elasticsearch.client.Request;
import org.elasticsearch.client.Response;
import org.elasticsearch.client.ResponseException;
import org.elasticsearch.client.ResponseListener;
import org.elasticsearch.client.RestClient;

/** Asks one after the other, all within one time. */
final class Questions {
    private final RestClient rest;
    private final long longestMs;
    private final long deadline;

    Questions(RestClient rest, long longestMs) {
        this.rest = rest;
        this.longestMs = longestMs;
        this.deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(longestMs);
    }

    /** The answer, whatever its status. */
    Answer ask(Request request) throws Unanswered {
        CompletableFuture<Response> coming = new CompletableFuture<>();
        Cancellable call = rest.performRequestAsync(request, listener(coming));
        try {
            return answer(coming.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS));
        } catch (TimeoutException late) {
            call.cancel();
            throw new Unanswered("nothing within " + longestMs + " ms", late);
        } catch (InterruptedException interrupt) {
            call.cancel();
            Thread.currentThread().interrupt();
            throw new Unanswered("interrupted", interrupt);
        } catch (ExecutionException failed) {
            return refusalOf(failed.getCause());
        }
    }

    private static ResponseListener listener(CompletableFuture<Response> coming) {
        return new ResponseListener() {
            @Override
            public void onSuccess(Response response) {
                coming.complete(response);
            }

            @Override
            public void onFailure(Exception failure) {
                coming.completeExceptionally(failure);
            }
        };
    }

    private static Answer refusalOf(Throwable failure) throws Unanswered {
        if (failure instanceof ResponseException refusal) {
            return answer(refusal.getResponse());
        }
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        throw new Unanswered(root.getClass().getSimpleName() + ": " + root.getMessage(), failure);
    }

    private static Answer answer(Response response) throws Unanswered {
        try {
            String body = response.getEntity() == null ? "" : EntityUtils.toString(response.getEntity());
            return new Answer(response.getStatusLine().getStatusCode(), body);
        } catch (IOException unreadable) {
            throw new Unanswered("an answer that breaks off", unreadable);
        }
    }
}
