package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.sluice.connect.HistorySettings.Mode;
import io.sluice.connect.bulk.Wire;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** The records of one history as the producer means them, and what must have become of them in the end. */
final class HistoryModel {
    /** A document by its number, or a delete by the number that its key begins with. */
    private static final Pattern RECORD = Pattern.compile("\"n\":(\\d++)(?!,\"n\")|\"delete\":\\{\"_id\":\"(\\d)k");

    /** A record as the producer meant it. */
    private record Meant(String key, ObjectNode document, long version, boolean isBad) {}

    private final HistorySettings settings;
    private final Dice dice;
    private final PlayedBroker broker;
    private final Map<TopicPartition, List<Meant>> meant = new HashMap<>();
    private final Map<Integer, TopicPartition> partitionOfDocument = new HashMap<>();
    private final Set<String> deadLetters = new TreeSet<>();
    private final Map<String, Integer> timesStored = new HashMap<>();
    private int documents;

    HistoryModel(HistorySettings settings, Dice dice, PlayedBroker broker) {
        this.settings = settings;
        this.dice = dice;
        this.broker = broker;
    }

    /** Appends a record, good or bad, to a partition. */
    void produce(TopicPartition partition) {
        // A key's records all go to one partition.
        String key = partition.partition() + "k" + dice.nextInt(6);
        ObjectNode document = PlayedElasticsearch.JSON.createObjectNode();
        document.put("n", documents);
        partitionOfDocument.put(documents, partition);
        document.put("f" + dice.nextInt(3), documents++);
        if (settings.mode == Mode.STREAMED) {
            document.put("@timestamp", "2026-01-01T00:00:00Z");
        }
        long offset = broker.end(partition);
        // A version behind that of a delete which is forgotten brings the document back, whatever a sink does.
        // No two versions are equal: of two such operations in flight at once either may win.
        boolean isBehind = !settings.forgetsDeletes && dice.chance(0.2);
        long version = settings.mode == Mode.VERSIONED
                ? 40 + (isBehind ? offset / 2 * 7 + offset % 2 + 1 : offset * 7)
                : offset;
        boolean isTombstone = dice.chance(settings.deletes ? 0.25 : 0.05);
        boolean mayBeBad = !settings.mayFail() || settings.has("drop.invalid.message") && dice.chance(0);
        boolean isBad = mayBeBad && !isTombstone && dice.chance(0.08);
        String text = document.toString();
        Headers headers = new RecordHeaders();
        if (settings.mode == Mode.VERSIONED) {
            headers.add("v", versionHeader(version));
        }
        if (isBad) {
            switch (dice.nextInt(settings.keyIgnored ? 5 : 8)) {
                case 0 -> text = text.replace("{\"n\"", "{\"price\":\"x\",\"n\"");
                case 1 -> text = text.substring(0, text.length() - 1);
                case 2 -> text = text + "//}";
                case 3 -> text = text.replace("{\"n\"", "{\"n\":1,\"n\"");
                case 4 -> text = "[" + text + "]";
                case 5 -> key = null;
                case 6 -> key = "k".repeat(600);
                default -> {
                    if (settings.mode == Mode.VERSIONED) {
                        headers.add("v", "-5".getBytes(UTF_8));
                    } else {
                        text = "";
                    }
                }
            }
        } else if (dice.chance(0.1)) {
            text = text.replace(",", ",\n ");
        }
        broker.append(
                partition,
                key == null ? null : key.getBytes(UTF_8),
                isTombstone ? null : text.getBytes(UTF_8),
                headers,
                1_000 + offset);
        meant.computeIfAbsent(partition, first -> new ArrayList<>())
                .add(new Meant(key, isTombstone ? null : document, version, isBad));
    }

    private byte[] versionHeader(long version) {
        return dice.chance(0.5)
                ? Long.toString(version).getBytes(UTF_8)
                : ByteBuffer.allocate(Long.BYTES).putLong(version).array();
    }

    /** Where the records of a request were read. */
    Set<TopicPartition> partitionsOf(Wire.Exchange exchange) {
        Set<TopicPartition> partitions = new HashSet<>();
        String topic = exchange.index().substring(exchange.index().length() - 1);
        Matcher number = RECORD.matcher(exchange.body());
        while (number.find()) {
            partitions.add(
                    number.group(1) == null
                            ? new TopicPartition(topic, Integer.parseInt(number.group(2)))
                            : partitionOfDocument.get(Integer.parseInt(number.group(1))));
        }
        return partitions;
    }

    void deadLettered(String origin) {
        deadLetters.add(origin);
    }

    /** Counts how often each document was stored. */
    void stored(Wire.Exchange exchange, PlayedElasticsearch.Reply reply) {
        if (reply.status() != 200) {
            return;
        }
        try {
            int item = 0;
            String[] lines = exchange.body().split("\n");
            for (JsonNode answer :
                    PlayedElasticsearch.JSON.readTree(reply.body()).get("items")) {
                boolean isDelete = answer.has("delete");
                if (!isDelete && answer.iterator().next().get("status").asInt() < 300) {
                    timesStored.merge(lines[item + 1], 1, Integer::sum);
                }
                item += isDelete ? 1 : 2;
            }
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** What is stored against what must be; both as index, id, document. */
    String difference(PlayedElasticsearch cluster) {
        Map<String, Map<String, JsonNode>> stored = cluster.stored();
        if (settings.mode == Mode.NAMED_BY_ELASTICSEARCH) {
            return differenceOfCounts(stored);
        }
        Map<String, Map<String, JsonNode>> expected = expected();
        if (!stored.equals(expected)) {
            return "stored only   " + without(stored, expected) + "\nexpected only " + without(expected, stored);
        }
        return differenceOfLetters();
    }

    private static List<String> without(
            Map<String, Map<String, JsonNode>> some, Map<String, Map<String, JsonNode>> others) {
        List<String> rest = new ArrayList<>();
        some.forEach((index, documents) -> documents.forEach((id, document) -> {
            if (!document.equals(others.getOrDefault(index, Map.of()).get(id))) {
                rest.add(index + "/" + id + " " + document);
            }
        }));
        return rest;
    }

    private String differenceOfCounts(Map<String, Map<String, JsonNode>> stored) {
        Map<JsonNode, Integer> counts = new HashMap<>();
        stored.values().forEach(all -> all.values().forEach(document -> counts.merge(document, 1, Integer::sum)));
        Set<JsonNode> wanted = new HashSet<>();
        meant.values().forEach(all -> all.stream()
                .filter(record -> !record.isBad && record.document != null)
                .forEach(record -> wanted.add(record.document)));
        if (!counts.keySet().equals(wanted)) {
            Set<JsonNode> missing = new HashSet<>(wanted);
            missing.removeAll(counts.keySet());
            counts.keySet().removeAll(wanted);
            return "stored only " + counts.keySet() + "\nexpected only " + missing;
        }
        counts.values().removeIf(count -> count == 1);
        return settings.refuses || !settings.isWaitedFor() || counts.isEmpty()
                ? differenceOfLetters()
                : "doubled: " + counts;
    }

    /** The model: what must be stored once every record has been read, whatever happened on the way. */
    private Map<String, Map<String, JsonNode>> expected() {
        Map<String, Map<String, JsonNode>> expected = new TreeMap<>();
        Map<String, Long> versions = new HashMap<>();
        meant.forEach((partition, records) -> {
            for (int offset = 0; offset < records.size(); offset++) {
                Meant record = records.get(offset);
                String origin = partition.topic() + "+" + partition.partition() + "+" + offset;
                String id = settings.keyIgnored || settings.mode == Mode.STREAMED ? origin : record.key;
                boolean isOlder = settings.mode == Mode.VERSIONED
                        && versions.getOrDefault(partition.topic() + id, -1L) >= record.version;
                if (record.isBad || isOlder || record.document == null && !settings.deletes) {
                    continue;
                }
                versions.put(partition.topic() + id, record.version);
                Map<String, JsonNode> index =
                        expected.computeIfAbsent(settings.indexOf(partition.topic()), name -> new TreeMap<>());
                if (record.document == null) {
                    index.remove(id);
                } else if (settings.mode == Mode.UPSERTED && index.containsKey(id)) {
                    index.put(id, ((ObjectNode) index.get(id).deepCopy()).setAll(record.document));
                } else {
                    index.put(id, record.document);
                }
            }
        });
        expected.values().removeIf(Map::isEmpty);
        return expected;
    }

    private String differenceOfLetters() {
        Set<String> wanted = new TreeSet<>();
        meant.forEach((partition, records) -> {
            for (int offset = 0; offset < records.size(); offset++) {
                if (records.get(offset).isBad && settings.hasLetters()) {
                    wanted.add(partition + "@" + offset);
                }
            }
        });
        if (settings.has("drop.invalid.message")) {
            // What is no document is dropped then, and what the cluster rejects is not.
            return wanted.containsAll(deadLetters) ? differenceOfRepetitions() : "dead letters " + deadLetters;
        }
        if (!deadLetters.equals(wanted)) {
            return "dead letters " + deadLetters + "\nexpected     " + wanted;
        }
        return differenceOfRepetitions();
    }

    /** While no request is refused and no answer lost, nothing is sent again, whoever stops or owns a partition. */
    private String differenceOfRepetitions() {
        timesStored.values().removeIf(times -> times == 1);
        return settings.refuses || !settings.isWaitedFor() || timesStored.isEmpty()
                ? null
                : "stored again: " + timesStored;
    }
}
