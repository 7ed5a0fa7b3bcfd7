package io.sluice.connect.cluster;

import io.sluice.connect.config.NodeUrl;
import java.util.concurrent.TimeUnit;
import org.apache.hc.core5.http.HttpHost;

/** One URL of the cluster, and whether it is left out. {@link Nodes} guards it. */
final class Node {
    private static final long SHORTEST_OUT_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long LONGEST_OUT_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int MOST_DOUBLINGS = 6;

    private final HttpHost host;
    private final NodeUrl url;
    /** Of the server that answered last when it was asked who it is, empty for none. */
    private String lastId = "";

    private boolean isAlwaysTheSame;
    /** How often it is being asked who it is. */
    private int asked;

    private boolean isOut;
    /** Whether the times below mean anything. */
    private boolean wasOut;

    private long leftOutAtNanos;
    private boolean isProbed;
    private int timesOut;
    private long outSinceNanos;
    private long outUntilNanos;
    private long failedAtNanos;

    Node(NodeUrl url) {
        this.url = url;
        String name =
                url.host().startsWith("[") ? url.host().substring(1, url.host().length() - 1) : url.host();
        host = new HttpHost(url.scheme(), name, url.port());
    }

    HttpHost host() {
        return host;
    }

    boolean isSecure() {
        return url.scheme().equals("https");
    }

    /** The path of a request to this node. */
    String path(String ofRequest) {
        return url.path() + ofRequest;
    }

    /** Whether it may be asked who it is, so many times at once; otherwise it has not answered yet. */
    boolean mayBeIdentified(int times) {
        if (isOut || asked > 0) {
            return false;
        }
        asked = times;
        return true;
    }

    /** It was asked who it is, and did not say so. */
    void notIdentified() {
        asked--;
    }

    /** Notes which server says that it is there. Before a load balancer it is now the one, now another. */
    void identified(String id) {
        asked--;
        isAlwaysTheSame = id.equals(lastId);
        lastId = id;
    }

    /** Whether this server, and no other, answers there. */
    boolean is(String id) {
        return isAlwaysTheSame && !id.isEmpty() && lastId.equals(id);
    }

    boolean isOut() {
        return isOut;
    }

    /** When it failed last; to be asked only while it is out. */
    long failedAtNanos() {
        return failedAtNanos;
    }

    boolean isDueForAProbe(long nowNanos) {
        return isOut && !isProbed && nowNanos - outUntilNanos >= 0;
    }

    void probed() {
        isProbed = true;
    }

    /**
     * Leaves it out, or for longer if it was. Of requests that were sent before it was left out nothing new is learnt, nor
     * of those that it gets because every node is out.
     *
     * @return for how many nanoseconds from now on, or 0 where nothing changes
     */
    long failed(long sentAtNanos, long nowNanos) {
        isProbed = false;
        failedAtNanos = nowNanos;
        boolean isOld = wasOut && sentAtNanos - leftOutAtNanos < 0;
        if (isOld || isOut && nowNanos - outUntilNanos < 0) {
            return 0;
        }
        outSinceNanos = isOut ? outSinceNanos : nowNanos;
        isOut = true;
        wasOut = true;
        leftOutAtNanos = nowNanos;
        long outNanos = Math.min(LONGEST_OUT_NANOS, SHORTEST_OUT_NANOS << Math.min(timesOut++, MOST_DOUBLINGS));
        outUntilNanos = nowNanos + outNanos;
        return outNanos;
    }

    /**
     * Takes it back.
     *
     * @param isProbe a question that any server answers, after which the next failure leaves it out for longer still
     * @return for how many nanoseconds it was out
     */
    long answered(boolean isProbe, long nowNanos) {
        isProbed &= !isProbe;
        timesOut = isProbe ? timesOut : 0;
        long outNanos = isOut ? Math.max(1, nowNanos - outSinceNanos) : 0;
        isOut = false;
        return outNanos;
    }

    @Override
    public String toString() {
        return url.toString();
    }
}
