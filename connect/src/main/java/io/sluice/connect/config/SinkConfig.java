package io.sluice.connect.config;

import static org.apache.kafka.common.config.ConfigDef.Importance.HIGH;
import static org.apache.kafka.common.config.ConfigDef.Importance.LOW;
import static org.apache.kafka.common.config.ConfigDef.Importance.MEDIUM;
import static org.apache.kafka.common.config.ConfigDef.NO_DEFAULT_VALUE;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.types.Password;

/** The connector's settings by name; each was refused or accepted as a whole before this object exists. */
public final class SinkConfig {
    static final String CONNECTION_URL = "connection.url";
    static final String CONNECTION_USERNAME = "connection.username";
    static final String CONNECTION_PASSWORD = "connection.password";
    static final String CONNECTION_API_KEY = "connection.api.key";
    static final String CONNECTION_TIMEOUT_MS = "connection.timeout.ms";
    static final String READ_TIMEOUT_MS = "read.timeout.ms";
    static final String CONNECTION_COMPRESSION = "connection.compression";
    static final String BATCH_SIZE = "batch.size";
    static final String BULK_SIZE_BYTES = "bulk.size.bytes";
    static final String LINGER_MS = "linger.ms";
    static final String MAX_IN_FLIGHT_REQUESTS = "max.in.flight.requests";
    static final String MAX_BUFFERED_RECORDS = "max.buffered.records";
    static final String MAX_BUFFERED_BYTES = "max.buffered.bytes";
    static final String FLUSH_TIMEOUT_MS = "flush.timeout.ms";
    static final String MAX_RETRIES = "max.retries";
    static final String RETRY_BACKOFF_MS = "retry.backoff.ms";
    static final String RETRY_BACKOFF_MAX_MS = "retry.backoff.max.ms";
    static final String RETRY_TIMEOUT_MS = "retry.timeout.ms";
    static final String STALL_TIMEOUT_MS = "stall.timeout.ms";
    static final String KEY_IGNORE = "key.ignore";
    static final String WRITE_METHOD = "write.method";
    static final String ON_NULL_VALUES = "behavior.on.null.values";
    static final String ON_MALFORMED_DOCUMENTS = "behavior.on.malformed.documents";
    static final String INDEX_NAME = "index.name";
    static final String AUTO_CREATE = "auto.create";
    static final String AGE_HEADER = "age.header";
    private static final String TOPIC_PLACEHOLDER = "${topic}";

    private final Values values;

    public SinkConfig(Map<String, String> settings) {
        this.values = new Values(definition(), settings);
    }

    /** Every key with its type, default and what it accepts. */
    public static ConfigDef definition() {
        ConfigDef definition = new ConfigDef();
        defineConnection(definition);
        defineBulks(definition);
        defineRetries(definition);
        defineDocuments(definition);
        return definition;
    }

    private static void defineConnection(ConfigDef definition) {
        definition
                .define(
                        CONNECTION_URL,
                        Type.LIST,
                        NO_DEFAULT_VALUE,
                        Accepts.urls(),
                        HIGH,
                        "Elasticsearch URLs, separated by commas.")
                .define(CONNECTION_USERNAME, Type.STRING, null, MEDIUM, "User name for basic authentication.")
                .define(CONNECTION_PASSWORD, Type.PASSWORD, null, MEDIUM, "Password for basic authentication.")
                .define(
                        CONNECTION_API_KEY,
                        Type.PASSWORD,
                        null,
                        MEDIUM,
                        "API key, base64 of id:key, in place of a user name and password.")
                .define(
                        CONNECTION_TIMEOUT_MS,
                        Type.INT,
                        1_000,
                        Accepts.atLeast(1),
                        LOW,
                        "How long connecting may take, in milliseconds.")
                .define(
                        READ_TIMEOUT_MS,
                        Type.INT,
                        30_000,
                        Accepts.atLeast(1),
                        LOW,
                        "How long an answer may keep silent, in milliseconds.")
                .define(CONNECTION_COMPRESSION, Type.BOOLEAN, false, LOW, "Compress requests with gzip.");
    }

    private static void defineBulks(ConfigDef definition) {
        definition
                .define(
                        BATCH_SIZE,
                        Type.INT,
                        2_000,
                        Accepts.between(1, 1_000_000),
                        MEDIUM,
                        "Most operations in one bulk request.")
                .define(
                        BULK_SIZE_BYTES,
                        Type.LONG,
                        5L << 20,
                        Accepts.atLeast(1),
                        MEDIUM,
                        "Most bytes in one bulk request; a larger document goes alone.")
                .define(
                        LINGER_MS,
                        Type.LONG,
                        1L,
                        Accepts.atLeast(0),
                        LOW,
                        "How long a bulk request waits for more records while requests may be sent, in milliseconds.")
                .define(
                        MAX_IN_FLIGHT_REQUESTS,
                        Type.INT,
                        5,
                        Accepts.between(1, 1_000),
                        MEDIUM,
                        "Bulk requests under way at once, those waiting for their next attempt included.")
                .define(
                        MAX_BUFFERED_RECORDS,
                        Type.INT,
                        20_000,
                        Accepts.atLeast(1),
                        LOW,
                        "Undecided records at which the task stops reading.")
                .define(
                        MAX_BUFFERED_BYTES,
                        Type.LONG,
                        64L << 20,
                        Accepts.atLeast(1),
                        LOW,
                        "Bytes of undecided records at which the task stops reading.")
                .define(
                        FLUSH_TIMEOUT_MS,
                        Type.LONG,
                        180_000L,
                        Accepts.atLeast(0),
                        LOW,
                        "How long a task that loses partitions waits for their records, in milliseconds.");
    }

    private static void defineRetries(ConfigDef definition) {
        definition
                .define(
                        MAX_RETRIES,
                        Type.INT,
                        5,
                        Accepts.atLeast(0),
                        MEDIUM,
                        "Attempts after the first for failures that waiting alone does not cure.")
                .define(
                        RETRY_BACKOFF_MS,
                        Type.LONG,
                        100L,
                        Accepts.atLeast(1),
                        LOW,
                        "Upper end of the first random wait before an attempt, in milliseconds; it doubles each time.")
                .define(
                        RETRY_BACKOFF_MAX_MS,
                        Type.LONG,
                        30_000L,
                        Accepts.atLeast(1),
                        LOW,
                        "Longest wait before an attempt, in milliseconds.")
                .define(
                        RETRY_TIMEOUT_MS,
                        Type.LONG,
                        600_000L,
                        Accepts.atLeast(0),
                        MEDIUM,
                        "How long a bulk request without any progress is repeated, in milliseconds.")
                .define(
                        STALL_TIMEOUT_MS,
                        Type.LONG,
                        300_000L,
                        Accepts.atLeast(1),
                        LOW,
                        "How long records may be in flight with none decided before a warning says why, in milliseconds.");
    }

    private static void defineDocuments(ConfigDef definition) {
        definition
                .define(
                        KEY_IGNORE,
                        Type.BOOLEAN,
                        false,
                        HIGH,
                        "Make the document's _id from topic, partition and offset, not from the record's key.")
                .define(
                        WRITE_METHOD,
                        Type.STRING,
                        "insert",
                        Accepts.oneOf(WriteMethod.class),
                        LOW,
                        "insert replaces the stored document, upsert merges into it.")
                .define(
                        ON_NULL_VALUES,
                        Type.STRING,
                        "fail",
                        Accepts.oneOf(OnNullValues.class),
                        LOW,
                        "What becomes of records without a value.")
                .define(
                        ON_MALFORMED_DOCUMENTS,
                        Type.STRING,
                        "fail",
                        Accepts.oneOf(OnMalformedDocuments.class),
                        LOW,
                        "What becomes of records that are no document or that Elasticsearch rejects.")
                .define(
                        INDEX_NAME,
                        Type.STRING,
                        TOPIC_PLACEHOLDER,
                        Accepts.text(),
                        MEDIUM,
                        "Index, alias or data stream to write to; ${topic} stands for the record's topic.")
                .define(AUTO_CREATE, Type.BOOLEAN, true, LOW, "Let Elasticsearch create an index that is missing.")
                .define(
                        AGE_HEADER,
                        Type.STRING,
                        "sluice.intended-send-time-us",
                        Accepts.text(),
                        LOW,
                        "Header with the time a record was due, 8 bytes, microseconds since the epoch.");
    }

    public List<String> urls() {
        return values.getList(CONNECTION_URL);
    }

    public String username() {
        return values.getString(CONNECTION_USERNAME);
    }

    public Password password() {
        return values.getPassword(CONNECTION_PASSWORD);
    }

    public Password apiKey() {
        return values.getPassword(CONNECTION_API_KEY);
    }

    public int connectionTimeoutMs() {
        return values.getInt(CONNECTION_TIMEOUT_MS);
    }

    public int readTimeoutMs() {
        return values.getInt(READ_TIMEOUT_MS);
    }

    public boolean compressed() {
        return values.getBoolean(CONNECTION_COMPRESSION);
    }

    public int batchSize() {
        return values.getInt(BATCH_SIZE);
    }

    public long bulkSizeBytes() {
        return values.getLong(BULK_SIZE_BYTES);
    }

    public long lingerMs() {
        return values.getLong(LINGER_MS);
    }

    public int maxInFlightRequests() {
        return values.getInt(MAX_IN_FLIGHT_REQUESTS);
    }

    public int maxBufferedRecords() {
        return values.getInt(MAX_BUFFERED_RECORDS);
    }

    public long maxBufferedBytes() {
        return values.getLong(MAX_BUFFERED_BYTES);
    }

    public long flushTimeoutMs() {
        return values.getLong(FLUSH_TIMEOUT_MS);
    }

    public int maxRetries() {
        return values.getInt(MAX_RETRIES);
    }

    public long retryBackoffMs() {
        return values.getLong(RETRY_BACKOFF_MS);
    }

    public long retryBackoffMaxMs() {
        return values.getLong(RETRY_BACKOFF_MAX_MS);
    }

    public long retryTimeoutMs() {
        return values.getLong(RETRY_TIMEOUT_MS);
    }

    public long stallTimeoutMs() {
        return values.getLong(STALL_TIMEOUT_MS);
    }

    public boolean keyIgnored() {
        return values.getBoolean(KEY_IGNORE);
    }

    public WriteMethod writeMethod() {
        return WriteMethod.valueOf(upperCase(WRITE_METHOD));
    }

    public OnNullValues onNullValues() {
        return OnNullValues.valueOf(upperCase(ON_NULL_VALUES));
    }

    public OnMalformedDocuments onMalformedDocuments() {
        return OnMalformedDocuments.valueOf(upperCase(ON_MALFORMED_DOCUMENTS));
    }

    public boolean autoCreate() {
        return values.getBoolean(AUTO_CREATE);
    }

    public String ageHeader() {
        return values.getString(AGE_HEADER);
    }

    /** The index that records of this topic go to; Elasticsearch takes lower case only. */
    public String indexOf(String topic) {
        return values.getString(INDEX_NAME).replace(TOPIC_PLACEHOLDER, topic).toLowerCase(Locale.ROOT);
    }

    private String upperCase(String key) {
        return values.getString(key).toUpperCase(Locale.ROOT);
    }

    /** Typed values; hidden so that keys stay in this class. Values are not logged. */
    private static final class Values extends AbstractConfig {
        Values(ConfigDef definition, Map<String, String> settings) {
            super(definition, settings, false);
        }
    }
}
