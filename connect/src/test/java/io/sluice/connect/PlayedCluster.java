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
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.net.ssl.SSLContext;

/**
 * A cluster of several nodes over real sockets that stores what it was sent; nodes, connections and answers fail as a dice
 * says.
 */
final class PlayedCluster implements AutoCloseable {
    /** The client's; who never answers is silent for longer. */
    static final int READ_TIMEOUT_MS = 400;

    private static final int LONGEST_DOWN_MS = 150;
    private static final int LONGEST_DEAF_MS = 600;
    private static final int MOST_KEPT_ANSWERS = 64;
    private static final String SYNTHETIC =
            "{\"books\":{\"settings\":{\"index\":{\"mapping\":{\"source\":{\"mode\":\"synthetic\"}}}}}}";

    /** What becomes of a request; the first ones before it is read. */
    enum Misdeed {
        RESET_IN_MID_UPLOAD,
        READ_SLOWLY,
        NOT_READ,
        GONE_DOWN,
        GONE_DEAF,
        /** With an end that resets the connection. */
        ANSWERED_BEFORE_THE_END,
        ANSWERED_BEFORE_THE_END_AND_READ,
        ANSWERED_BEFORE_THE_END_AND_KEPT,

        NONE,
        CLOSED_WITHOUT_AN_ANSWER,
        NEVER_ANSWERED,
        HALF_AN_ANSWER,
        HALF_IN_CHUNKS,
        HALF_OF_OLD_HTTP,
        CUT_GZIP,
        BYTE_BY_BYTE,
        SLOWER_THAN_THE_TIMEOUT,
        CHUNKED,
        GZIP,
        GZIP_IN_CHUNKS,
        INFORMED_FIRST,
        OLD_HTTP,
        CLOSED_AFTER_THE_ANSWER,
        HTML,
        EMPTY,
        UNAVAILABLE,
        SOME_REFUSED,
        ANOTHERS_ANSWER,
        OTHER_IDS,
        PERMUTED;

        boolean isInMidUpload() {
            return compareTo(NONE) < 0;
        }
    }

    /** A request that was read. */
    record Question(PlayedRequest request, String body) {}

    private static final Misdeed[] ALL = Misdeed.values();
    private static final Integer[] REFUSALS = {408, 429, 500, 502, 503, 504};
    private static final Integer[] REFUSALS_OF_BULKS = {400, 408, 429, 500, 502, 503, 504};
    /** A document that is refused as too large is rejected if it is alone. */
    private static final Integer[] REFUSALS_OF_LARGE = {400, 408, 413, 413, 413, 429, 500, 502, 503, 504};

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
    private final List<String> offences = new ArrayList<>();
    private boolean isHealthy;
    private boolean isSynthetic;
    private int mostBytes = Integer.MAX_VALUE;
    private int failedQuestions;

    /** @param wickedness how much of all that happens is wrong, from 0 to 1 */
    PlayedCluster(int count, Dice dice, double wickedness) throws IOException {
        this(count, dice, wickedness, null);
    }

    /** @param tls {@code null} for nodes without it */
    PlayedCluster(int count, Dice dice, double wickedness, SSLContext tls) throws IOException {
        this.dice = dice;
        this.wickedness = wickedness;
        for (int i = 0; i < count; i++) {
            nodes.add(new PlayedNode(this, tls));
        }
    }

    /** Perhaps refuses what is longer as too large. */
    synchronized void limitRequests(int bytes) {
        mostBytes = bytes;
    }

    /** Puts documents together from their fields when it is asked for them, their arrays in order. */
    synchronized void becomeSynthetic() {
        isSynthetic = true;
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

    /** How often something was wrong with the answer to a question about a conflict. */
    synchronized int failedQuestions() {
        return failedQuestions;
    }

    synchronized Misdeed nextMisdeed(PlayedRequest request) {
        Misdeed next = chance(1) ? ALL[dice.nextInt(ALL.length)] : Misdeed.NONE;
        boolean isQuestion = request.isAboutDocuments() || request.isAboutIndex();
        failedQuestions += isQuestion && next != Misdeed.NONE ? 1 : 0;
        done.merge(next, 1, Integer::sum);
        return next;
    }

    /** From 0 to this many, all equally likely. */
    synchronized int upTo(int most) {
        return dice.nextInt(Math.max(0, most) + 1);
    }

    /** A status with which a request is refused that goes again. */
    synchronized int refusal(PlayedRequest request) {
        return dice.oneOf(
                !request.isBulk() ? REFUSALS : request.isLongerThan(mostBytes) ? REFUSALS_OF_LARGE : REFUSALS_OF_BULKS);
    }

    /** Notes what a client must never do. */
    synchronized void offend(String offence) {
        offences.add(offence);
    }

    synchronized List<String> offences() {
        return List.copyOf(offences);
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

    void deafen(PlayedNode node) {
        int longest = upTo(LONGEST_DEAF_MS);
        node.goDeaf();
        threads.execute(() -> {
            sleep(longest);
            node.hearAgain();
        });
    }

    void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }

    synchronized PlayedElasticsearch.Reply store(Question question) {
        return reply(question, false);
    }

    /** Refuses some items. */
    synchronized PlayedElasticsearch.Reply storeSome(Question question) {
        return reply(question, true);
    }

    private PlayedElasticsearch.Reply reply(Question question, boolean isSelective) {
        PlayedRequest request = question.request();
        if (request.isAboutDocuments()) {
            PlayedElasticsearch.Reply stored = store.mget(question.body());
            return isSynthetic
                    ? new PlayedElasticsearch.Reply(200, stored.body().replace("[9,1]", "[1,9]"))
                    : stored;
        }
        if (request.isAboutShards()) {
            return new PlayedElasticsearch.Reply(200, someShards(request));
        }
        if (request.isAboutNode()) {
            return new PlayedElasticsearch.Reply(200, "{\"nodes\":{\"" + someNode() + "\":{\"name\":\"n\"}}}");
        }
        if (!request.isBulk()) {
            boolean isAboutSynthetic = request.isAboutIndex() && isSynthetic;
            return new PlayedElasticsearch.Reply(200, isAboutSynthetic ? SYNTHETIC : "{}");
        }
        PlayedElasticsearch.Reply reply =
                store.bulk(request.index(), question.body(), item -> !isSelective || dice.nextInt(3) > 0);
        if (reply.status() == 200 && earlierAnswers.size() < MOST_KEPT_ANSWERS) {
            earlierAnswers.put((int) question.body().lines().count(), reply);
        }
        return reply;
    }

    private String someNode() {
        return "node-" + dice.nextInt(nodes.size() + 1);
    }

    /** Shards of an index and their nodes, others each time: most of it is wrong. */
    private String someShards(PlayedRequest request) {
        String index = request.path().replaceFirst(".*/([^/?]+)\\?.*", "$1");
        int count = 1 + dice.nextInt(6);
        String shards = IntStream.range(0, count)
                .mapToObj(shard -> "\"" + shard + "\":[{\"primary\":true,\"node\":\"" + someNode() + "\"}]")
                .collect(Collectors.joining(","));
        return ("{'metadata':{'indices':{'" + index + "':{'routing_num_shards':" + count * (1 + dice.nextInt(4))
                                + ",'settings':{'index':{'number_of_shards':'" + count + "'}}}}},"
                                + "'routing_table':{'indices':{'" + index + "':{'shards':{")
                        .replace('\'', '"')
                + shards + "}}}}}";
    }

    synchronized void perhapsStore(Question question) {
        if (dice.nextBoolean()) {
            reply(question, false);
        }
    }

    /** Stores a document that no record of the history made. */
    synchronized void plant(String index, String id, String document) {
        store.bulk(index, "{\"index\":{\"_id\":\"" + id + "\"}}\n" + document, item -> true);
    }

    /**
     * An answer that is none to this request, though it has as many items. Where the cluster makes the ids nobody can tell,
     * and the answer is right.
     */
    synchronized PlayedElasticsearch.Reply wrong(Misdeed misdeed, Question question) {
        PlayedRequest request = question.request();
        if (request.isAboutDocuments()) {
            return wrongDocuments(misdeed, reply(question, false));
        }
        if (!request.isBulk() || !question.body().contains("\"_id\"")) {
            return reply(question, false);
        }
        if (misdeed == Misdeed.ANOTHERS_ANSWER) {
            PlayedElasticsearch.Reply another =
                    earlierAnswers.get((int) question.body().lines().count());
            return another == null ? reply(question, true) : another;
        }
        if (misdeed == Misdeed.PERMUTED) {
            return with("items", reply(question, true), this::shuffle);
        }
        // Nothing is stored, and all is well with others.
        PlayedElasticsearch other = new PlayedElasticsearch(name -> false);
        return with(
                "items",
                other.bulk(request.index(), question.body(), item -> true),
                items -> items.forEach(item -> rename(item.iterator().next())));
    }

    private PlayedElasticsearch.Reply wrongDocuments(Misdeed misdeed, PlayedElasticsearch.Reply right) {
        return misdeed == Misdeed.PERMUTED
                ? with("docs", right, this::shuffle)
                : with("docs", right, documents -> documents.forEach(PlayedCluster::rename));
    }

    private void shuffle(ArrayNode items) {
        List<JsonNode> shuffled = new ArrayList<>();
        items.forEach(shuffled::add);
        Collections.shuffle(shuffled, dice);
        items.removeAll();
        shuffled.forEach(items::add);
    }

    private static void rename(JsonNode item) {
        ((ObjectNode) item).put("_id", "other-" + item.path("_id").asText());
    }

    private static PlayedElasticsearch.Reply with(
            String items, PlayedElasticsearch.Reply reply, Consumer<ArrayNode> change) {
        if (reply.status() != 200) {
            return reply;
        }
        try {
            JsonNode answer = PlayedElasticsearch.JSON.readTree(reply.body());
            change.accept((ArrayNode) answer.get(items));
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
