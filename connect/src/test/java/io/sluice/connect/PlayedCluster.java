package io.sluice.connect;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;

/**
 * A cluster of several nodes over real sockets that stores what it was sent; nodes, connections and answers fail as a dice
 * says.
 */
final class PlayedCluster implements AutoCloseable {
    /** The client's; who never answers is silent for longer. */
    static final int READ_TIMEOUT_MS = 400;

    private static final int LONGEST_DOWN_MS = 150;
    private static final int MOST_KEPT_ANSWERS = 64;

    /** What becomes of a request. */
    enum Misdeed {
        NONE,
        RESET_IN_MID_UPLOAD,
        ANSWERED_BEFORE_THE_END,
        CLOSED_WITHOUT_AN_ANSWER,
        NEVER_ANSWERED,
        HALF_AN_ANSWER,
        BYTE_BY_BYTE,
        CHUNKED,
        GZIP,
        HTML,
        UNAVAILABLE,
        SOME_REFUSED,
        GONE_DOWN,
        ANOTHERS_ANSWER,
        OTHER_IDS,
        PERMUTED
    }

    private static final Misdeed[] ALL = Misdeed.values();

    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "played-node");
        thread.setDaemon(true);
        return thread;
    });
    private final List<PlayedNode> nodes = new ArrayList<>();
    private final PlayedElasticsearch store = new PlayedElasticsearch(name -> false);
    private final Map<Misdeed, Integer> done = new EnumMap<>(Misdeed.class);
    private final Map<Integer, PlayedElasticsearch.Reply> earlierAnswers = new HashMap<>();
    private final Dice dice;
    private final double wickedness;
    private boolean isHealthy;

    /** @param wickedness how much of all that happens is wrong, from 0 to 1 */
    PlayedCluster(int count, Dice dice, double wickedness) throws IOException {
        this.dice = dice;
        this.wickedness = wickedness;
        for (int i = 0; i < count; i++) {
            nodes.add(new PlayedNode(this));
        }
    }

    ExecutorService threads() {
        return threads;
    }

    List<PlayedNode> nodes() {
        return nodes;
    }

    String urls() {
        return nodes.stream().map(PlayedNode::url).collect(Collectors.joining(","));
    }

    /** From now on nothing is wrong any more, and every node is there. */
    void heal() throws IOException {
        synchronized (this) {
            isHealthy = true;
        }
        for (PlayedNode node : nodes) {
            node.comeBack();
        }
    }

    /** How often each thing happened. */
    synchronized Map<Misdeed, Integer> done() {
        return new EnumMap<>(done);
    }

    private synchronized boolean chance(double probability) {
        return !isHealthy && dice.chance(wickedness * probability);
    }

    boolean resetsNewConnection() {
        return chance(0.1);
    }

    synchronized Misdeed nextMisdeed() {
        Misdeed next = chance(1) ? ALL[dice.nextInt(ALL.length)] : Misdeed.NONE;
        done.merge(next, 1, Integer::sum);
        return next;
    }

    /** From 0 to this many, all equally likely. */
    synchronized int upTo(int most) {
        return dice.nextInt(Math.max(0, most) + 1);
    }

    synchronized int statusOf(int... choices) {
        return choices[dice.nextInt(choices.length)];
    }

    synchronized boolean flip() {
        return dice.nextBoolean();
    }

    void takeDown(PlayedNode node) {
        int longest = upTo(LONGEST_DOWN_MS);
        node.goDown();
        threads.execute(() -> {
            sleep(longest);
            try {
                node.comeBack();
            } catch (IOException taken) {
                // Another process has its port: it stays away.
            }
        });
    }

    void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }

    synchronized PlayedElasticsearch.Reply store(String index, String body) {
        return store(index, body, false);
    }

    /** @param index {@code null} where documents are asked for */
    private PlayedElasticsearch.Reply store(String index, String body, boolean isSelective) {
        if (index == null) {
            return store.mget(body);
        }
        PlayedElasticsearch.Reply reply = store.bulk(index, body, item -> !isSelective || dice.nextInt(3) > 0);
        if (reply.status() == 200 && earlierAnswers.size() < MOST_KEPT_ANSWERS) {
            earlierAnswers.put((int) body.lines().count(), reply);
        }
        return reply;
    }

    synchronized void perhapsStore(String index, String body) {
        if (dice.nextBoolean()) {
            store(index, body, false);
        }
    }

    /**
     * An answer that is none to this request, though it has as many items. Where the cluster makes the ids nobody can tell,
     * and the answer is right.
     */
    synchronized PlayedElasticsearch.Reply wrong(Misdeed misdeed, String index, String body) {
        if (index == null) {
            PlayedElasticsearch.Reply right = store.mget(body);
            return new PlayedElasticsearch.Reply(200, right.body().replace("\"_id\":\"", "\"_id\":\"other-"));
        }
        if (!body.contains("\"_id\"")) {
            return store(index, body, false);
        }
        if (misdeed == Misdeed.ANOTHERS_ANSWER) {
            PlayedElasticsearch.Reply another =
                    earlierAnswers.get((int) body.lines().count());
            return another == null ? store(index, body, true) : another;
        }
        if (misdeed == Misdeed.PERMUTED) {
            return with(store(index, body, true), items -> {
                List<JsonNode> shuffled = new ArrayList<>();
                items.forEach(shuffled::add);
                Collections.shuffle(shuffled, dice);
                items.removeAll();
                shuffled.forEach(items::add);
            });
        }
        // Nothing is stored, and all is well with others.
        PlayedElasticsearch other = new PlayedElasticsearch(name -> false);
        return with(
                other.bulk(index, body, item -> true),
                items -> items.forEach(item -> ((ObjectNode) item.iterator().next())
                        .put(
                                "_id",
                                "other-" + item.iterator().next().path("_id").asText())));
    }

    private static PlayedElasticsearch.Reply with(
            PlayedElasticsearch.Reply reply, java.util.function.Consumer<ArrayNode> change) {
        if (reply.status() != 200) {
            return reply;
        }
        try {
            JsonNode answer = PlayedElasticsearch.JSON.readTree(reply.body());
            change.accept((ArrayNode) answer.get("items"));
            return new PlayedElasticsearch.Reply(200, answer.toString());
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** What a search would find: version and document by id. */
    synchronized Map<String, PlayedElasticsearch.Document> stored(String index) {
        return store.documents(index);
    }

    @Override
    public void close() {
        nodes.forEach(PlayedNode::close);
        threads.shutdownNow();
    }
}
