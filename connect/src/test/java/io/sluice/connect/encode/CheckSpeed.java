package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.encode.StructSpeed.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.apache.kafka.connect.converters.ByteArrayConverter;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.StringConverter;

/**
 * Measures by hand the CPU time of the check of a document, and of a record's way from the consumer's bytes to its operation
 * by converter of the key. Arguments: files of one document a line, such as the lab's producers make.
 */
final class CheckSpeed {
    /** As many as the lab's consumer hands over at once. */
    private static final int DOCUMENTS = 2_000;

    private static final String PLAIN = "{" + "\"field\":\"some words of a text\",".repeat(25) + "\"pages\":432}";
    private static final String URL = "\"https://www.example.com/shop/item?id=296601638\"";
    private static final String WITH_URLS = "{"
            + ("\"link\":" + URL + ",\"text\":\"" + "words of a text ".repeat(13) + "\",").repeat(3) + "\"pages\":432}";

    private CheckSpeed() {}

    public static void main(String[] files) throws Exception {
        compare("ASCII", List.of(PLAIN));
        compare("ASCII with three URLs", List.of(WITH_URLS));
        for (String file : files) {
            compare(file, Files.readAllLines(Path.of(file)));
        }
        Encoding encoding = new Encoding();
        try (Converter strings = new StringConverter();
                Converter bytes = new ByteArrayConverter()) {
            strings.configure(Map.of(), true);
            StructSpeed.compare(
                    "key by ByteArrayConverter, before by StringConverter",
                    operations(encoding, strings),
                    operations(encoding, bytes));
        }
    }

    private static void compare(String what, List<String> documents) throws Exception {
        byte[][] copies = IntStream.range(0, DOCUMENTS)
                .mapToObj(i -> documents.get(i % documents.size()).getBytes(UTF_8))
                .toArray(byte[][]::new);
        StructSpeed.compare(what, checked(copies, FormerOneLine::isBraced), checked(copies, OneLine::isBraced));
    }

    private static Writer checked(byte[][] documents, Predicate<byte[]> check) {
        int[] next = {0};
        return () -> {
            byte[] document = documents[next[0]++ % documents.length];
            if (!check.test(document)) {
                throw new AssertionError(new String(document, UTF_8));
            }
            return document;
        };
    }

    private static Writer operations(Encoding encoding, Converter keys) {
        byte[] key = "9797494446421".getBytes(UTF_8);
        SchemaAndValue value = new SchemaAndValue(Schema.OPTIONAL_BYTES_SCHEMA, "{}".getBytes(UTF_8));
        return () -> encoding.operation(Encoding.record(keys.toConnectData("books", key), value, new ConnectHeaders()))
                .line(0);
    }
}
