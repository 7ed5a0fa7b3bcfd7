package io.sluice.connect.config;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;

/** What goes with a document, or is read from its record beside it. */
public final class DocumentSettings {
    public static final String PIPELINE = "pipeline";
    private static final String ROUTING = "routing";
    private static final String METADATA_FIELDS = "metadata.fields";
    private static final String METADATA_OBJECT = "metadata.object";
    private static final String DATA_STREAM_TIMESTAMP_FIELD = "data.stream.timestamp.field";
    private static final String TEMPORAL_FORMAT = "temporal.format";
    private static final String DECIMAL_FORMAT = "decimal.format";
    private static final String UNAVAILABLE_VALUE_PLACEHOLDER = "unavailable.value.placeholder";
    private static final String AGE_HEADER = "age.header";

    private enum TemporalFormat {
        ISO,
        EPOCH
    }

    private enum DecimalFormat {
        NUMERIC,
        STRING
    }

    /** The worker's. */
    private static final String TRANSFORMS = "transforms";

    private static final List<String> KNOWN_TRANSFORMS =
            List.of("org.apache.kafka.connect.transforms.", "io.debezium.transforms.");

    private final AbstractConfig values;

    DocumentSettings(AbstractConfig values) {
        this.values = values;
    }

    static void define(ConfigDef definition) {
        SettingsGroup settings = new SettingsGroup(definition, "What documents carry");
        settings.text(PIPELINE, "Ingest pipeline")
                .means(
                        "Ingest pipeline for all documents. Refused with write.method=upsert: the cluster applies none to upserts.");
        settings.text(ROUTING, "Routing")
                .accepts(Accepts.routing())
                .means("Where routing comes from: key, header:NAME, or a JSON pointer such as /shop/id. A record "
                        + "without it is not routed; an object or array there is malformed. A pointer is refused "
                        + "with behavior.on.null.values=delete.");
        settings.list(METADATA_FIELDS, "Metadata fields")
                .accepts(Accepts.someOf(MetadataField.class))
                .means("What to add to each document: any of topic, partition, offset, timestamp, key, headers, "
                        + "separated by commas.");
        settings.text(METADATA_OBJECT, "Metadata object")
                .byDefault("kafka")
                .means("Field that holds metadata.fields. A document that already has this field is rejected.");
        settings.list(DATA_STREAM_TIMESTAMP_FIELD, "Timestamp fields")
                .means("Fields, separated by commas, of which the first present becomes @timestamp in a data "
                        + "stream; otherwise the record's timestamp does. A document's own @timestamp is kept.");
        settings.choice(TEMPORAL_FORMAT, "Format of dates and times", TemporalFormat.class, "iso")
                .means(
                        "Dates and times of Connect and Debezium in structs and maps: iso writes 2026-11-26, 13:18:19.000 "
                                + "and 2026-11-26T13:18:19.000Z; epoch the numbers that they are made of, for indices "
                                + "that have mapped them as numbers.");
        settings.choice(DECIMAL_FORMAT, "Format of decimals", DecimalFormat.class, "numeric")
                .means("Decimals in structs and maps: numeric writes a number with all its digits, string the same "
                        + "in quotes.");
        settings.text(UNAVAILABLE_VALUE_PLACEHOLDER, "Placeholder of unavailable values")
                .byDefault("__debezium_unavailable_value")
                .means("With write.method=upsert, fields of a struct or map with this value are left out, so that the "
                        + "stored value is kept: Debezium sends it for a column that the database left out of its log "
                        + "as unchanged. As at the source.");
        settings.text(AGE_HEADER, "Age header")
                .byDefault("sluice.intended-send-time-us")
                .means("Header with the time a record was due (8 bytes big-endian, microseconds since the "
                        + "epoch), for RecordAgeHistogram. Without it the record's timestamp counts.");
    }

    static void check(Findings findings) {
        checkRouting(findings);
        if (findings.isGiven(PIPELINE) && findings.isText(WriteSettings.WRITE_METHOD, "upsert")) {
            findings.refuse(
                    PIPELINE,
                    "got " + findings.valueOf(PIPELINE) + ", expected none with " + WriteSettings.WRITE_METHOD
                            + "=upsert: the cluster applies no pipeline to upserts");
        }
        findings.requireEffect(
                METADATA_OBJECT, !findings.listOf(METADATA_FIELDS).isEmpty(), METADATA_FIELDS);
        findings.requireEffect(
                DATA_STREAM_TIMESTAMP_FIELD,
                TargetSettings.hasDataStreams(findings),
                "data.stream.dataset or a data stream in topic.to.external.resource.mapping");
    }

    /** A tombstone has no document to find the shard by, and would delete nothing. */
    private static void checkRouting(Findings findings) {
        boolean isPointer = String.valueOf(findings.valueOf(ROUTING)).startsWith("/");
        if (isPointer && findings.isText(WriteSettings.ON_NULL_VALUES, "delete")) {
            findings.refuse(
                    ROUTING,
                    "got a JSON pointer, expected key or header:NAME with " + WriteSettings.ON_NULL_VALUES + "=delete");
        }
        boolean isHeader = String.valueOf(findings.valueOf(ROUTING)).startsWith("header:");
        if (isHeader && findings.isText(WriteSettings.ON_NULL_VALUES, "delete")) {
            findings.warn(ROUTING, "a tombstone without the header does not find a document that was routed");
        }
    }

    public String pipeline() {
        return values.getString(PIPELINE);
    }

    public String routing() {
        return values.getString(ROUTING);
    }

    /** In the order of the enum. */
    public Set<MetadataField> metadataFields() {
        Set<MetadataField> fields = EnumSet.noneOf(MetadataField.class);
        values.getList(METADATA_FIELDS)
                .forEach(field -> fields.add(MetadataField.valueOf(field.toUpperCase(Locale.ROOT))));
        return fields;
    }

    public String metadataObject() {
        return values.getString(METADATA_OBJECT);
    }

    public List<String> timestampFields() {
        return values.getList(DATA_STREAM_TIMESTAMP_FIELD);
    }

    /** Whether dates and times are written as numbers. */
    public boolean epochs() {
        return TemporalFormat.EPOCH.name().equalsIgnoreCase(values.getString(TEMPORAL_FORMAT));
    }

    public boolean decimalsAsText() {
        return DecimalFormat.STRING.name().equalsIgnoreCase(values.getString(DECIMAL_FORMAT));
    }

    /** What stands for a value that an event lacks. */
    public String unavailableValuePlaceholder() {
        return values.getString(UNAVAILABLE_VALUE_PLACEHOLDER);
    }

    /**
     * The first transformation that may make another document of a record each time it is read, or nothing. Those of Kafka
     * and Debezium make the same.
     */
    public String foreignTransform() {
        Map<String, Object> given = values.originals();
        return Arrays.stream(String.valueOf(given.getOrDefault(TRANSFORMS, "")).split(","))
                .map(String::trim)
                .filter(name -> !name.isEmpty())
                .filter(name -> !isKnown(String.valueOf(given.get(TRANSFORMS + "." + name + ".type"))))
                .findFirst()
                .orElse("");
    }

    private static boolean isKnown(String transform) {
        return KNOWN_TRANSFORMS.stream().anyMatch(transform::startsWith);
    }

    public String ageHeader() {
        return values.getString(AGE_HEADER);
    }
}
