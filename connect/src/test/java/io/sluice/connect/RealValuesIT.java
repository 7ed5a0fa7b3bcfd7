package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.debezium.data.Bits;
import io.debezium.data.EnumSet;
import io.debezium.data.Json;
import io.debezium.data.VariableScaleDecimal;
import io.debezium.data.geometry.Geometry;
import io.debezium.data.geometry.Point;
import io.debezium.data.vector.SparseDoubleVector;
import io.debezium.time.MicroTime;
import io.debezium.time.MicroTimestamp;
import io.debezium.time.NanoTimestamp;
import io.debezium.time.ZonedTimestamp;
import java.math.BigDecimal;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.connect.data.Date;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * What the cluster makes of values that JsonConverter and its schemas hand over: the types of a dynamic mapping, and what
 * is found by them. The server as for {@link RealElasticsearch}.
 */
@EnabledIfEnvironmentVariable(named = "SLUICE_TEST_ELASTICSEARCH_URL", matches = "http.*")
class RealValuesIT extends RealElasticsearch {
    private static final long MILLIS = 1_795_699_099_123L;
    private static final String[] STRUCTS = {
        "value.converter", JsonConverter.class.getName(), "value.converter.schemas.enable", "true"
    };

    private final ObjectMapper json = new ObjectMapper();
    private final Map<String, Schema> schemas = new LinkedHashMap<>();
    private final Map<String, Object> values = new LinkedHashMap<>();
    private final Map<String, String> types = new LinkedHashMap<>();

    private void field(String name, Schema schema, Object value, String type) {
        schemas.put(name, schema);
        values.put(name, value);
        types.put(name, type);
    }

    /** A record as JsonConverter writes it into Kafka. */
    private SinkRecord record(long offset) {
        SchemaBuilder schema = SchemaBuilder.struct();
        schemas.forEach(schema::field);
        Struct struct = new Struct(schema.build());
        values.forEach(struct::put);
        try (JsonConverter converter = new JsonConverter()) {
            converter.configure(Map.of("schemas.enable", "true"), false);
            byte[] written = converter.fromConnectData("books", struct.schema(), struct);
            return new SinkRecord("books", 0, null, ("k" + offset).getBytes(UTF_8), null, written, offset);
        }
    }

    private JsonNode get(String path) throws Exception {
        return json.readTree(ask("GET", path, null));
    }

    /** The types by field, as {@code name=type}. */
    private Map<String, String> mapped() throws Exception {
        JsonNode properties =
                get("/" + INDEX + "/_mapping").path(INDEX).path("mappings").path("properties");
        return types.keySet().stream()
                .collect(Collectors.toMap(
                        name -> name, name -> properties.path(name).path("type").asText("object")));
    }

    private long found(String query) throws Exception {
        ask("POST", "/" + INDEX + "/_refresh", null);
        String answer = ask("POST", "/" + INDEX + "/_count", "{\"query\":" + query + "}");
        JsonNode count = json.readTree(answer).path("count");
        assertTrue(count.isNumber(), answer);
        return count.asLong();
    }

    private long foundOn(String field, String from, String to) throws Exception {
        return found("{\"range\":{\"" + field + "\":{\"gte\":\"" + from + "\",\"lt\":\"" + to + "\"}}}");
    }

    private void put(String... settings) throws Exception {
        String[] all = java.util.stream.Stream.concat(
                        java.util.Arrays.stream(STRUCTS), java.util.Arrays.stream(settings))
                .toArray(String[]::new);
        try (TaskHarness harness = harness(all)) {
            harness.put(List.of(record(0)));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 1L), harness.fates(), harness.deadLetters.toString());
        }
    }

    private void everyType() {
        field("int8", Schema.INT8_SCHEMA, (byte) 8, "long");
        field("int64", Schema.INT64_SCHEMA, Long.MAX_VALUE, "long");
        field("float64", Schema.FLOAT64_SCHEMA, 0.5, "float");
        field("boolean", Schema.BOOLEAN_SCHEMA, true, "boolean");
        field("string", Schema.STRING_SCHEMA, "Emma", "text");
        field("bytes", Schema.BYTES_SCHEMA, new byte[] {0, -1}, "text");
        field("date", Date.SCHEMA, new java.util.Date(20_783 * 86_400_000L), "date");
        field("time", Time.SCHEMA, new java.util.Date(1), "text");
        field("timestamp", Timestamp.SCHEMA, new java.util.Date(MILLIS), "date");
        field("decimal", Decimal.schema(2), new BigDecimal("12.30"), "float");
        field(
                "map",
                SchemaBuilder.map(Schema.INT32_SCHEMA, Schema.STRING_SCHEMA).build(),
                Map.of(7, "x"),
                "object");
        field("dbz_date", io.debezium.time.Date.schema(), 20_783, "date");
        field("dbz_timestamp", io.debezium.time.Timestamp.schema(), MILLIS, "date");
        field("dbz_micros", MicroTimestamp.schema(), MILLIS * 1_000 + 456, "date");
        field("dbz_nanos", NanoTimestamp.schema(), MILLIS * 1_000_000 + 456_789, "date");
        field("dbz_zoned", ZonedTimestamp.schema(), "2026-11-26T14:18:19.123456+01:00", "date");
        field("dbz_time", MicroTime.schema(), 1L, "text");
        field(
                "dbz_decimal",
                VariableScaleDecimal.schema(),
                VariableScaleDecimal.fromLogical(VariableScaleDecimal.schema(), new BigDecimal("5094.61")),
                "float");
        field("dbz_json", Json.schema(), "{\"a\":[1]}", "object");
        field("dbz_bits", Bits.schema(3), new byte[] {5}, "text");
        field("dbz_set", EnumSet.schema("s,m"), "s,m", "text");
        Schema sparse = SparseDoubleVector.schema();
        field("dbz_sparse", sparse, SparseDoubleVector.fromLogical(sparse, "{1:0.5}/3"), "object");
    }

    /** A dynamic mapping makes dates of dates, and finds them on the day that they are. */
    @Test
    void aDynamicMappingTakesEveryTypeForWhatItIs() throws Exception {
        everyType();
        put();
        assertEquals(types, mapped());
        for (String field :
                List.of("date", "dbz_date", "timestamp", "dbz_timestamp", "dbz_micros", "dbz_nanos", "dbz_zoned")) {
            assertEquals(1, foundOn(field, "2026-11-26", "2026-11-27"), field);
        }
        for (String field : List.of("timestamp", "dbz_timestamp", "dbz_micros", "dbz_nanos", "dbz_zoned")) {
            assertEquals(1, foundOn(field, "2026-11-26T13:18:19.123Z", "2026-11-26T13:18:19.124Z"), field);
        }
        assertEquals(1, found("{\"term\":{\"dbz_json.a\":1}}"));
        assertEquals(1, found("{\"match\":{\"map.7\":\"x\"}}"));
        assertEquals(1, found("{\"term\":{\"dbz_set.keyword\":\"m\"}}"));
    }

    /** All digits of a decimal are in the source, and a mapping may keep them. */
    @Test
    void decimalsKeepTheirDigits() throws Exception {
        field("decimal", Decimal.schema(2), new BigDecimal("12345678901234567.80"), "float");
        put();
        String source = ask("GET", "/" + INDEX + "/_source/k0", null);
        assertEquals("{\"decimal\":12345678901234567.80}", source);
        makeIndex();
        put("decimal.format", "string");
        assertEquals("{\"decimal\":\"12345678901234567.80\"}", ask("GET", "/" + INDEX + "/_source/k0", null));
    }

    /** A field that an earlier release mapped as a number goes on as one. */
    @Test
    void aFieldThatIsANumberIsServedByEpochs() throws Exception {
        ask("PUT", "/" + INDEX + "/_mapping", "{\"properties\":{\"timestamp\":{\"type\":\"long\"}}}");
        field("timestamp", Timestamp.SCHEMA, new java.util.Date(MILLIS), "long");
        try (TaskHarness harness = harness(STRUCTS)) {
            harness.put(List.of(record(0)));
            harness.putUntilCompleted();
            assertEquals(Map.of("DeadLettered", 1L), harness.fates());
        }
        put("temporal.format", "epoch");
        assertEquals(1, found("{\"term\":{\"timestamp\":" + MILLIS + "}}"));
    }

    /** A mapping for nanoseconds keeps them. */
    @Test
    void nanosecondsAreFound() throws Exception {
        ask("PUT", "/" + INDEX + "/_mapping", "{\"properties\":{\"dbz_nanos\":{\"type\":\"date_nanos\"}}}");
        field("dbz_nanos", NanoTimestamp.schema(), MILLIS * 1_000_000 + 456_789, "date_nanos");
        put();
        assertEquals(1, foundOn("dbz_nanos", "2026-11-26T13:18:19.123456789Z", "2026-11-26T13:18:19.123456790Z"));
        assertEquals(0, foundOn("dbz_nanos", "2026-11-26T13:18:19.123456790Z", "2026-11-27"));
    }

    @Test
    void pointsAreFoundWhereTheyAre() throws Exception {
        String version = ask("GET", "/_nodes/_local?filter_path=nodes.*.version", null);
        assumeTrue(
                !version.contains("\"version\":\"7."), "geo_point takes no GeoJSON before Elasticsearch 8: " + version);
        ask("PUT", "/" + INDEX + "/_mapping", "{\"properties\":{\"point\":{\"type\":\"geo_point\"}}}");
        Schema point = Point.builder().build();
        field("point", point, Point.createValue(point, 9.99, 48.4), "geo_point");
        put();
        String box = ":{\"top_left\":{\"lon\":9.9,\"lat\":48.5},\"bottom_right\":{\"lon\":10.1,\"lat\":48.3}}";
        assertEquals(1, found("{\"geo_bounding_box\":{\"point\"" + box + "}}"));
    }

    @Test
    void shapesAreFoundWhereTheyAre() throws Exception {
        String mapped = ask("PUT", "/" + INDEX + "/_mapping", "{\"properties\":{\"shape\":{\"type\":\"geo_shape\"}}}");
        assumeTrue(mapped.contains("acknowledged"), "the server has no geo_shape: " + mapped);
        field("shape", Geometry.schema(), polygon(), "geo_shape");
        put();
        String at =
                "{\"geo_shape\":{\"shape\":{\"relation\":\"intersects\",\"shape\":{\"type\":\"Point\",\"coordinates\":[%s]}}}}";
        assertEquals(1, found(String.format(at, "9.5,48.5")));
        assertEquals(0, found(String.format(at, "48.5,9.5")));
    }

    /** A square from 9, 48 to 10, 49. */
    private static Struct polygon() {
        String nine = "0000000000002240";
        String ten = "0000000000002440";
        String south = "0000000000004840";
        String north = "0000000000804840";
        byte[] wkb = HexFormat.of()
                .parseHex("01030000000100000005000000" + nine + south + ten + south + ten + north + nine + north + nine
                        + south);
        return Geometry.createValue(Geometry.schema(), wkb, 4326);
    }

    /** What we write with most levels is JSON that the cluster parses; one level more is refused by both, if it is not old. */
    @Test
    void theClusterParsesAsManyLevelsAsAreWritten() throws Exception {
        ask("PUT", "/" + INDEX + "/_settings", "{\"index.mapping.depth.limit\":1000}");
        ask("PUT", "/" + INDEX + "/_mapping", "{\"dynamic\":false}");
        for (int levels : new int[] {1_000, 1_001}) {
            String document = "{\"a\":" + "[".repeat(levels - 1) + "]".repeat(levels - 1) + "}";
            String answer = ask("PUT", "/" + INDEX + "/_doc/" + levels, document);
            boolean isTaken = answer.contains("created");
            assumeTrue(levels == 1_000 || !isTaken, "this server takes more levels");
            assertEquals(levels == 1_000, isTaken, levels + ": " + answer);
        }
    }
}
