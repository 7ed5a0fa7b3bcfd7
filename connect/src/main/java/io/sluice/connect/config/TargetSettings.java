package io.sluice.connect.config;

import static org.apache.kafka.common.config.ConfigDef.Importance.MEDIUM;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;

/** The index, alias or data stream that the records of a topic go to. */
public final class TargetSettings {
    private static final String INDEX_NAME = "index.name";
    private static final String AUTO_CREATE = "auto.create";
    private static final String DATA_STREAM_TYPE = "data.stream.type";
    private static final String DATA_STREAM_DATASET = "data.stream.dataset";
    private static final String DATA_STREAM_NAMESPACE = "data.stream.namespace";
    private static final String EXTERNAL_RESOURCE_USAGE = "external.resource.usage";
    private static final String TOPIC_TO_EXTERNAL_RESOURCE = "topic.to.external.resource.mapping";
    private static final String TOPIC_PLACEHOLDER = "${topic}";

    private final AbstractConfig values;

    TargetSettings(AbstractConfig values) {
        this.values = values;
    }

    static void define(ConfigDef definition) {
        SettingsGroup settings = new SettingsGroup(definition, "Where documents go");
        settings.text(INDEX_NAME, "Index")
                .byDefault(TOPIC_PLACEHOLDER)
                .accepts(Accepts.targetName())
                .importance(MEDIUM)
                .means("Index, alias or data stream, put into lower case. ${topic} is the record's topic, "
                        + "{yyyy.MM.dd} its timestamp in UTC (hours at the finest). Dates are refused with "
                        + "behavior.on.null.values=delete.");
        settings.flag(AUTO_CREATE, "Create targets")
                .byDefault(true)
                .means("true: the cluster creates a target that does not exist. false: the task fails instead; "
                        + "targets are looked for again after a second.");
        settings.choice(DATA_STREAM_TYPE, "Data stream type", DataStreamType.class, "none")
                .means("logs or metrics: write to the data stream TYPE-DATASET-NAMESPACE, put into lower case. "
                        + "Needs data.stream.dataset and key.ignore=true; refuses upserts and deletes.");
        settings.text(DATA_STREAM_DATASET, "Data stream dataset")
                .accepts(Accepts.targetName())
                .means("Second part of the data stream's name. Needs data.stream.type. Blank: no data stream.");
        settings.text(DATA_STREAM_NAMESPACE, "Data stream namespace")
                .byDefault(TOPIC_PLACEHOLDER)
                .accepts(Accepts.targetName())
                .means("Third part of the data stream's name; ${topic} is the record's topic.");
        settings.choice(EXTERNAL_RESOURCE_USAGE, "Kind of existing targets", ExternalResource.class, "DISABLED")
                .means("What the targets in topic.to.external.resource.mapping are: INDEX, DATASTREAM, "
                        + "ALIAS_INDEX or ALIAS_DATASTREAM. They must exist. Data streams need key.ignore=true and "
                        + "refuse upserts and deletes.");
        settings.list(TOPIC_TO_EXTERNAL_RESOURCE, "Existing targets by topic")
                .accepts(Accepts.mappings())
                .means("Existing targets as topic:target, separated by commas, names verbatim. Other topics go "
                        + "to index.name. Needs external.resource.usage.");
    }

    static void check(Findings findings) {
        checkDataStream(findings);
        checkMapping(findings);
        boolean createsOnly = hasDataStreams(findings);
        if (createsOnly && findings.isText(WriteSettings.WRITE_METHOD, "upsert")) {
            findings.refuse(WriteSettings.WRITE_METHOD, "got upsert, expected insert with a data stream");
        }
        if (createsOnly && findings.isText(WriteSettings.ON_NULL_VALUES, "delete")) {
            findings.refuse(WriteSettings.ON_NULL_VALUES, "got delete, expected ignore or fail with a data stream");
        }
        checkKeys(findings);
        checkDates(findings);
        warnOfSharedTargets(findings);
        findings.requireEffect(DATA_STREAM_NAMESPACE, findings.isGiven(DATA_STREAM_DATASET), DATA_STREAM_DATASET);
    }

    /** Whether any topic goes to a data stream. */
    static boolean hasDataStreams(Findings findings) {
        return findings.isGiven(DATA_STREAM_DATASET) || areMappedToDataStreams(findings);
    }

    private static boolean areMappedToDataStreams(Findings findings) {
        return findings.isText(EXTERNAL_RESOURCE_USAGE, "datastream")
                || findings.isText(EXTERNAL_RESOURCE_USAGE, "alias_datastream");
    }

    /** A data stream takes creates only: with ids from keys, all but the first event of a key would not be stored. */
    private static void checkKeys(Findings findings) {
        if (Boolean.TRUE.equals(findings.valueOf(IdentitySettings.KEY_IGNORE))) {
            return;
        }
        Set<String> mapped =
                targetsByTopic(findings.listOf(TOPIC_TO_EXTERNAL_RESOURCE)).keySet();
        Set<String> keyed = new TreeSet<>(areMappedToDataStreams(findings) ? mapped : Set.of());
        if (findings.isGiven(DATA_STREAM_DATASET)) {
            List<String> named = GivenSettings.topics(findings.given());
            if (named.isEmpty()) {
                findings.refuse(
                        IdentitySettings.KEY_IGNORE, "got false, expected true with a data stream and topics.regex");
                return;
            }
            named.stream().filter(topic -> !mapped.contains(topic)).forEach(keyed::add);
        }
        keyed.removeIf(topic -> IdentitySettings.isKeyIgnored(findings, topic));
        if (!keyed.isEmpty()) {
            findings.refuse(
                    IdentitySettings.KEY_IGNORE,
                    "got false, expected true with a data stream, or " + String.join(", ", keyed) + " in "
                            + IdentitySettings.KEY_IGNORE_TOPICS);
        }
    }

    /** A tombstone is of another time than the document that it is to delete. */
    private static void checkDates(Findings findings) {
        boolean isDated = Target.holdsDate(String.valueOf(findings.valueOf(INDEX_NAME)));
        boolean isUsed = !findings.isGiven(DATA_STREAM_DATASET);
        if (!isDated || !isUsed || !findings.isText(WriteSettings.ON_NULL_VALUES, "delete")) {
            return;
        }
        Set<String> mapped =
                targetsByTopic(findings.listOf(TOPIC_TO_EXTERNAL_RESOURCE)).keySet();
        List<String> named = GivenSettings.topics(findings.given());
        boolean isDeletedFrom = named.isEmpty()
                || named.stream()
                        .anyMatch(topic -> !mapped.contains(topic) && !IdentitySettings.isKeyIgnored(findings, topic));
        if (isDeletedFrom) {
            findings.refuse(
                    INDEX_NAME,
                    "got a date in it, expected none with " + WriteSettings.ON_NULL_VALUES
                            + "=delete (a tombstone is of another time than its document)");
        }
    }

    /** What becomes of keyed documents where versions or names do not go with the key alone. */
    private static void warnOfSharedTargets(Findings findings) {
        if (!findings.areNone() || hasDataStreams(findings)) {
            return;
        }
        TargetSettings targets = new SinkConfig(findings.given()).targets();
        Map<String, List<String>> topicsByTarget = GivenSettings.topics(findings.given()).stream()
                .filter(topic -> !IdentitySettings.isKeyIgnored(findings, topic))
                .collect(Collectors.groupingBy(
                        topic -> targets.targetOf(topic).pattern(), TreeMap::new, Collectors.toList()));
        topicsByTarget.forEach((target, topics) -> {
            if (topics.size() > 1 && !findings.isGiven(IdentitySettings.EXTERNAL_VERSION_HEADER)) {
                findings.warn(
                        INDEX_NAME,
                        String.join(", ", topics) + " are written into " + target
                                + ": where they have a key in common, the"
                                + " document with the higher offset stays, not the newer one");
            }
            if (targets.targetOf(topics.get(0)).isDated()) {
                findings.warn(
                        INDEX_NAME,
                        "a record of a key that goes to the index of another time does not replace the"
                                + " document there: " + target);
            }
        });
    }

    private static void checkDataStream(Findings findings) {
        boolean hasType = !findings.isText(DATA_STREAM_TYPE, "none");
        boolean hasDataset = findings.isGiven(DATA_STREAM_DATASET);
        if (hasType && !hasDataset) {
            findings.refuse(DATA_STREAM_DATASET, "got nothing, expected a value with " + DATA_STREAM_TYPE);
        }
        if (hasDataset && !hasType) {
            findings.refuse(DATA_STREAM_TYPE, "got none, expected logs or metrics with " + DATA_STREAM_DATASET);
        }
    }

    private static void checkMapping(Findings findings) {
        boolean isMapped = !findings.listOf(TOPIC_TO_EXTERNAL_RESOURCE).isEmpty();
        boolean isUsed = !findings.isText(EXTERNAL_RESOURCE_USAGE, "disabled");
        if (isMapped && !isUsed) {
            findings.refuse(
                    EXTERNAL_RESOURCE_USAGE,
                    "got DISABLED, expected what the targets of " + TOPIC_TO_EXTERNAL_RESOURCE + " are");
        }
        if (isUsed && !isMapped) {
            findings.refuse(
                    TOPIC_TO_EXTERNAL_RESOURCE, "got nothing, expected topic:target with " + EXTERNAL_RESOURCE_USAGE);
        }
    }

    /** Whether Elasticsearch may create what is missing; targets that the user says exist it may not. */
    public boolean autoCreate() {
        return values.getBoolean(AUTO_CREATE) && externalResource() == ExternalResource.DISABLED;
    }

    /** The setting because of which targets must exist; only of use where Elasticsearch may not create them. */
    public String existenceKey() {
        return externalResource() == ExternalResource.DISABLED ? AUTO_CREATE : TOPIC_TO_EXTERNAL_RESOURCE;
    }

    /** The setting that names the target of a topic. */
    public String nameKey(String topic) {
        return mappedTarget(topic) == null ? INDEX_NAME : TOPIC_TO_EXTERNAL_RESOURCE;
    }

    public String usageKey() {
        return EXTERNAL_RESOURCE_USAGE;
    }

    /** What the user says the target of a topic is, in the words of {@code _resolve/index}, or {@code null}. */
    public String kindOf(String topic) {
        return mappedTarget(topic) == null ? null : externalResource().kind();
    }

    /** The target named for a topic, or {@code null}. */
    private String mappedTarget(String topic) {
        return targetsByTopic(values.getList(TOPIC_TO_EXTERNAL_RESOURCE)).get(topic);
    }

    /** What stands as topic:target; the first one counts where a topic stands there twice. */
    private static Map<String, String> targetsByTopic(List<String> mappings) {
        Map<String, String> targets = new HashMap<>();
        for (String mapping : mappings) {
            int colon = mapping.indexOf(':');
            if (colon >= 0) {
                targets.putIfAbsent(
                        mapping.substring(0, colon).trim(),
                        mapping.substring(colon + 1).trim());
            }
        }
        return targets;
    }

    private ExternalResource externalResource() {
        return ExternalResource.valueOf(
                values.getString(EXTERNAL_RESOURCE_USAGE).toUpperCase(Locale.ROOT));
    }

    /** Whether the records of these topics go to more than one target, those with dates in their names aside. */
    public boolean areSeveral(Set<String> topics) {
        return topics.stream()
                        .map(topic -> targetOf(topic).pattern())
                        .distinct()
                        .count()
                > 1;
    }

    /** Where records of this topic go: an existing target named for it, a data stream, or the index by its name. */
    public Target targetOf(String topic) {
        String mapped = mappedTarget(topic);
        if (mapped != null) {
            return Target.named(mapped, externalResource().isDataStream());
        }
        String dataset = values.getString(DATA_STREAM_DATASET);
        if (!dataset.isEmpty()) {
            String namespace = values.getString(DATA_STREAM_NAMESPACE).replace(TOPIC_PLACEHOLDER, topic);
            return Target.ofPattern(values.getString(DATA_STREAM_TYPE) + "-" + dataset + "-" + namespace, true);
        }
        return Target.ofPattern(values.getString(INDEX_NAME).replace(TOPIC_PLACEHOLDER, topic), false);
    }
}
