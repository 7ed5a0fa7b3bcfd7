package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import io.apicurio.registry.utils.converter.AvroConverter;
import io.apicurio.registry.utils.converter.ExtJsonConverter;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Date;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.storage.Converter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Apicurio's converters of Avro and JSON Schema on a real worker; the registry is played, as far as they ask for it. */
class RegistryConvertersIT {
    private static final Schema BOOK = SchemaBuilder.struct()
            .name("shop.Book")
            .field("title", Schema.STRING_SCHEMA)
            .field("pages", Schema.OPTIONAL_INT32_SCHEMA)
            .field("cover", Schema.BYTES_SCHEMA)
            .field("published", Date.SCHEMA)
            .field("changed", Timestamp.SCHEMA)
            .field("price", Decimal.schema(2))
            .field("tags", SchemaBuilder.array(Schema.STRING_SCHEMA).build())
            .field(
                    "stock",
                    SchemaBuilder.map(Schema.STRING_SCHEMA, Schema.INT32_SCHEMA).build())
            .build();
    private static final String JSON =
            "{\"title\":\"Emma\",\"pages\":null,\"cover\":\"AP8=\",\"published\":\"2026-11-26\","
                    + "\"changed\":\"2026-11-26T13:18:19.123Z\",\"price\":12.3,\"tags\":[\"a\",\"b\"],\"stock\":{\"ulm\":7}}";

    private final List<String> schemas = new ArrayList<>();
    private LocalServer registry;

    @BeforeEach
    void start() throws IOException {
        registry = LocalServer.start(this::answer);
    }

    @AfterEach
    void stop() {
        registry.close();
    }

    /** Registers each schema under the next id, and gives it back. */
    private synchronized void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            String path = exchange.getRequestURI().getPath();
            String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
            if (exchange.getRequestMethod().equals("POST")) {
                schemas.add(body);
                int id = schemas.size();
                LocalServer.answer(
                        exchange,
                        200,
                        "{\"id\":\"books\",\"version\":\"" + id + "\",\"type\":\"AVRO\",\"globalId\":" + id
                                + ",\"contentId\":" + id + ",\"references\":[]}");
                return;
            }
            String id = path.replaceAll(".*/(globalIds|contentIds)/(\\d+).*", "$2");
            assertTrue(id.matches("\\d+"), path);
            LocalServer.answer(
                    exchange, 200, path.endsWith("references") ? "[]" : schemas.get(Integer.parseInt(id) - 1));
        }
    }

    private static Struct book() {
        return new Struct(BOOK)
                .put("title", "Emma")
                .put("cover", new byte[] {0, -1})
                .put("published", new java.util.Date(20_783 * 86_400_000L))
                .put("changed", new java.util.Date(1_795_699_099_123L))
                .put("price", new BigDecimal("12.30"))
                .put("tags", List.of("a", "b"))
                .put("stock", Map.of("ulm", 7));
    }

    private String url() {
        return registry.url() + "/apis/registry/v2";
    }

    private byte[] written(Converter producers) {
        Map<String, String> settings =
                new HashMap<>(Map.of("apicurio.registry.url", url(), "apicurio.registry.auto-register", "true"));
        producers.configure(settings, false);
        return producers.fromConnectData("books", BOOK, book());
    }

    private void assertIndexed(Converter producers) throws Exception {
        byte[] value = written(producers);
        Map<String, String> settings = Map.of(
                "value.converter", producers.getClass().getName(), "value.converter.apicurio.registry.url", url());
        try (PlayedCluster cluster = new PlayedCluster(1, new Dice(0), 0);
                TaskHarness harness = new TaskHarness(cluster.urls(), settings)) {
            harness.put(List.of(record(value)));
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 1L), harness.fates(), harness.deadLetters.toString());
            assertEquals(JSON, cluster.stored("books").get("k").source().toString());
        }
    }

    private static SinkRecord record(byte[] value) {
        return new SinkRecord("books", 0, null, "k".getBytes(UTF_8), null, value, 0);
    }

    @Test
    void structsOfAvroAreIndexed() throws Exception {
        try (AvroConverter<Object> converter = new AvroConverter<>()) {
            assertIndexed(converter);
        }
    }

    @Test
    void structsOfJsonSchemaAreIndexed() throws Exception {
        ExtJsonConverter converter = new ExtJsonConverter();
        assertIndexed(converter);
        converter.close();
    }

    /** Read as bytes, it is a bad document that names its format. */
    @Test
    void avroThatIsReadAsBytesIsNamed() throws Exception {
        try (AvroConverter<Object> converter = new AvroConverter<>();
                PlayedCluster cluster = new PlayedCluster(1, new Dice(0), 0);
                TaskHarness harness = new TaskHarness(cluster.urls(), Map.of())) {
            harness.put(List.of(record(written(converter))));
            harness.putUntilCompleted();
            assertEquals(Map.of("DeadLettered", 1L), harness.fates());
            assertTrue(harness.deadLetters.toString().contains("wire format"), harness.deadLetters.toString());
        }
    }
}
