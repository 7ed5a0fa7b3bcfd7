package io.sluice.connect.encode;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Measures by hand the CPU time that the JSON of a struct and of a map takes, through JsonConverter and straight: {@code mvn
 * test-compile}, then {@code java -cp … io.sluice.connect.encode.StructSpeed}. The values are shaped like a book of the
 * lab, 0.9 kB of JSON.
 */
final class StructSpeed {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final int DOCUMENTS = 100_003;
    private static final int ROUNDS = 9;
    private static final Schema OFFER = SchemaBuilder.struct()
            .field("shop", Schema.STRING_SCHEMA)
            .field("price", Schema.INT32_SCHEMA)
            .field("used", Schema.BOOLEAN_SCHEMA)
            .build();
    private static final Schema BOOK = SchemaBuilder.struct()
            .field("itemId", Schema.INT64_SCHEMA)
            .field("title", Schema.STRING_SCHEMA)
            .field("author", Schema.STRING_SCHEMA)
            .field("description", Schema.STRING_SCHEMA)
            .field("publisher", Schema.STRING_SCHEMA)
            .field("pages", Schema.INT32_SCHEMA)
            .field("rating", Schema.FLOAT64_SCHEMA)
            .field("adult", Schema.BOOLEAN_SCHEMA)
            .field("isbn", Schema.OPTIONAL_STRING_SCHEMA)
            .field("offers", SchemaBuilder.array(OFFER).build())
            .build();

    private StructSpeed() {}

    interface Writer {
        byte[] json() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Struct struct = struct();
        Object map = mapOf(struct);
        ValueWriter values = new ValueWriter(PlainValues.OF_IDS, 1 << 20);
        try (JsonConverter converter = new JsonConverter()) {
            converter.configure(Map.of("schemas.enable", "false", "decimal.format", "NUMERIC"), false);
            compare(
                    "struct, JsonConverter",
                    () -> converter.fromConnectData("t", BOOK, struct),
                    () -> values.json(BOOK, struct, "v"));
            compare(
                    "map, JsonConverter",
                    () -> converter.fromConnectData("t", null, map),
                    () -> values.json(null, map, "v"));
        }
    }

    /** Prints the CPU time of {@code after}, and of {@code before} in relation: median, lowest and highest of the rounds. */
    static void compare(String what, Writer before, Writer after) throws Exception {
        double[] ratios = new double[ROUNDS];
        double[] nanos = new double[ROUNDS];
        nanosOf(before);
        nanosOf(after);
        for (int round = 0; round < ROUNDS; round++) {
            double slow = nanosOf(before);
            nanos[round] = nanosOf(after);
            ratios[round] = slow / nanos[round];
        }
        Arrays.sort(ratios);
        Arrays.sort(nanos);
        System.out.printf(
                "%s: %d bytes take %.0f ns of CPU, before %.2f times as much (%.2f to %.2f)%n",
                what, after.json().length, nanos[ROUNDS / 2], ratios[ROUNDS / 2], ratios[0], ratios[ROUNDS - 1]);
    }

    private static double nanosOf(Writer writer) throws Exception {
        long bytes = 0;
        long begin = THREADS.getCurrentThreadCpuTime();
        for (int i = 0; i < DOCUMENTS; i++) {
            bytes += writer.json().length;
        }
        long nanos = THREADS.getCurrentThreadCpuTime() - begin;
        if (bytes == 0) {
            throw new AssertionError();
        }
        return (double) nanos / DOCUMENTS;
    }

    private static Struct struct() {
        List<Struct> offers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            offers.add(new Struct(OFFER)
                    .put("shop", "shop " + i)
                    .put("price", 10_090 + i)
                    .put("used", true));
        }
        return new Struct(BOOK)
                .put("itemId", 1_234_567_890L)
                .put("title", "오만과 편견 - Pride and Prejudice")
                .put("author", "Jane Austen")
                .put("description", "It is a truth universally acknowledged 그리고 \"such\". ".repeat(9))
                .put("publisher", "민음사")
                .put("pages", 432)
                .put("rating", new BigDecimal("9.7").doubleValue())
                .put("adult", false)
                .put("offers", offers);
    }

    private static Object mapOf(Object value) {
        if (value instanceof List<?> list) {
            return list.stream().map(StructSpeed::mapOf).toList();
        }
        if (!(value instanceof Struct struct)) {
            return value;
        }
        Map<String, Object> map = new LinkedHashMap<>();
        struct.schema().fields().forEach(field -> map.put(field.name(), mapOf(struct.get(field))));
        return map;
    }
}
