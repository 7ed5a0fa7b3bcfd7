package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.metrics.SinkMetrics;
import io.sluice.connect.offset.Delivery;
import io.sluice.connect.offset.Origin;
import io.sluice.connect.offset.PartitionOffsets;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RecordEncoderTest {
    private static final long LEAP_DAY = 1_709_164_799_999L;

    private final ConnectHeaders headers = new ConnectHeaders();
    private final PartitionOffsets partition = new PartitionOffsets(new SinkMetrics().ledgerOf("Books", 3));
    private Long timestamp = LEAP_DAY;

    private Operation operation(Object key, String value, String... settings) throws MalformedRecordException {
        Map<String, String> given = new HashMap<>(Map.of("connection.url", "http://localhost:9"));
        for (int i = 0; i < settings.length; i += 2) {
            given.put(settings[i], settings[i + 1]);
        }
        SinkRecord record = new SinkRecord(
                "Books",
                3,
                null,
                key,
                null,
                value == null ? null : value.getBytes(UTF_8),
                41,
                timestamp,
                TimestampType.CREATE_TIME,
                headers);
        return new RecordEncoder(new SinkConfig(given))
                .encode(new Delivery(record, partition, new Origin("Books", 3, 41), 1, -1));
    }

    private String lines(Object key, String value, String... settings) throws MalformedRecordException {
        Operation operation = operation(key, value, settings);
        String lines = operation.index();
        for (int line = 0; line < operation.lines(); line++) {
            lines += "\n" + new String(operation.line(line), UTF_8);
        }
        return lines;
    }

    private String refusal(Object key, String value, String... settings) {
        return assertThrows(MalformedRecordException.class, () -> operation(key, value, settings))
                .getMessage();
    }

    /** By default the key is the id, the offset the version, and the document the very bytes of the record. */
    @Test
    void theFastPathCopiesNothing() throws Exception {
        assertEquals(
                "books\n{\"index\":{\"_id\":\"k\",\"version_type\":\"external\",\"version\":41}}\n{\"a\":1}",
                lines("k", "{\"a\":1}"));
        Operation operation = operation("k", "{}");
        assertSame(operation.delivery().record().value(), operation.line(1));
    }

    /** What is no JSON is Elasticsearch's to reject, as long as it is text on one line that no other line suffers from. */
    @Test
    void whatMayStandOnALineIsNotParsed() throws Exception {
        assertEquals(
                "books\n{\"index\":{\"_id\":\"k\",\"version_type\":\"external\",\"version\":41}}\n{\"a\":1,}",
                lines("k", "{\"a\":1,}"));
    }

    /** What may be no line of its own is refused with its first wrong byte. */
    @ParameterizedTest
    @ValueSource(strings = {"{\"a\"\n1}", "{\"a\" 1", "{\"a\" 1}]"})
    void whatMayBeNoLineIsParsed(String value) {
        assertEquals(
                "record value: got " + value.length()
                        + " bytes that are wrong from byte 5 on, expected one JSON object in" + " UTF-8",
                refusal("k", value));
    }

    /** A document that is put together with something else is parsed: it could change what stands around it. */
    @Test
    void aDocumentThatIsPutTogetherIsParsed() {
        String[][] settings = {
            {"write.method", "upsert"},
            {"metadata.fields", "offset"},
            {"external.resource.usage", "DATASTREAM", "topic.to.external.resource.mapping", "Books:books"},
            {"drop.invalid.message", "true"},
        };
        for (String[] each : settings) {
            assertEquals(
                    "record value: got 14 bytes that are wrong from byte 7 on, expected one JSON object in UTF-8",
                    refusal("k", "{\"a\":1},\"b\":2}", each));
        }
    }

    /** Keys are ignored for the topics named, by either name of the setting, and for no other. */
    @Test
    void keysAreIgnoredForTheTopicsNamed() throws Exception {
        String byOrigin = "books\n{\"create\":{\"_id\":\"Books+3+41\"}}\n{}";
        assertEquals(byOrigin, lines("k", "{}", "key.ignore.topics", "films,Books"));
        assertEquals(byOrigin, lines("k", "{}", "topic.key.ignore", "Books"));
        assertEquals(lines("k", "{}"), lines("k", "{}", "key.ignore.topics", "films"));
        assertEquals(
                "record value: got none, expected a document (the topic's documents cannot be deleted by key)",
                refusal("k", null, "key.ignore.topics", "Books"));
    }

    /** Elasticsearch makes ids only where keys are ignored. */
    @Test
    void elasticsearchMakesIdsWhereKeysAreIgnored() throws Exception {
        assertEquals(
                "books\n{\"index\":{}}\n{}", lines("k", "{}", "use.autogenerated.ids", "true", "key.ignore", "true"));
        assertEquals(lines("k", "{}"), lines("k", "{}", "use.autogenerated.ids", "true"));
    }

    /** Ids of offsets have the prefix, for a topic that was created again; ids from keys are the keys. */
    @Test
    void idsOfOriginHaveThePrefix() throws Exception {
        String[] settings = {"key.ignore", "true", "id.prefix", "kafka-\"2\"-ü:"};
        assertEquals("books\n{\"create\":{\"_id\":\"kafka-\\\"2\\\"-ü:Books+3+41\"}}\n{}", lines("k", "{}", settings));
        assertEquals(
                "k", new String(operation("k", "{}", "id.prefix", "kafka-2:").id(), UTF_8));
    }

    /** The id of a replayed record is that of the record that was rejected, in every form a header has. */
    @Test
    void aReplayedRecordKeepsItsId() throws Exception {
        String place = "Old-books-7@1000000000000";
        for (Object value : new Object[] {place, place.getBytes(UTF_8), ByteBuffer.wrap(place.getBytes(UTF_8))}) {
            headers.remove("replay-of").add("replay-of", value, null);
            assertEquals("p-Old-books+7+1000000000000", replayedId("k", "key.ignore", "true"));
            assertEquals("k", replayedId("k", "key.ignore", "false"));
        }
        headers.remove("replay-of");
        assertEquals("p-Books+3+41", replayedId("k", "key.ignore", "true"));
    }

    private String replayedId(String key, String... settings) throws MalformedRecordException {
        String[] all = Arrays.copyOf(settings, settings.length + 4);
        System.arraycopy(new String[] {"id.origin.header", "replay-of", "id.prefix", "p-"}, 0, all, settings.length, 4);
        return new String(operation(key, "{}", all).id(), UTF_8);
    }

    /** Who writes to the topic makes no id of another form. */
    @ParameterizedTest
    @ValueSource(strings = {"", "a", "a+0+1", "a-0@", "a-0@-1", "\"-0@1", "a-0@1 ", "a-0@9999999999999999999", "ü-0@1"})
    void whatIsNoPlaceOfARecordIsRefused(String value) {
        headers.add("replay-of", value, null);
        assertEquals(
                "record header replay-of: got no place of a record, expected topic-partition@offset",
                refusal("k", "{}", "key.ignore", "true", "id.origin.header", "replay-of"));
    }

    /** Without the setting, a header of the topic's producers chooses no id. */
    @Test
    void headersChooseNoIdsUnlessTheyAreToldTo() throws Exception {
        headers.add("sluice.replay-of", "Books-0@1", null);
        assertEquals(
                "Books+3+41",
                new String(operation("k", "{}", "key.ignore", "true").id(), UTF_8));
    }

    /** The version is what the header says, in any form; the offset where there is none. */
    @Test
    void theVersionComesFromTheHeader() throws Exception {
        String expected = "books\n{\"index\":{\"_id\":\"k\",\"version_type\":\"external\",\"version\":%d}}\n{}";
        assertEquals(String.format(expected, 41), lines("k", "{}", "external.version.header", "v"));
        Object[] forms = {
            1009L,
            "1009",
            "1009".getBytes(UTF_8),
            ByteBuffer.allocate(8).putLong(1009).array()
        };
        for (Object form : forms) {
            headers.add("v", form, null);
            assertEquals(String.format(expected, 1009), lines("k", "{}", "external.version.header", "v"));
            assertEquals(
                    1009, operation("k", "{}", "external.version.header", "v").version());
        }
    }

    /** Eight bytes are a big-endian number unless all are digits, and so are those that look like spaces around digits. */
    @Test
    void eightBytesAreANumber() throws Exception {
        String[] setting = {"external.version.header", "v"};
        for (long version = 0; version < 10_007; version++) {
            headers.add("v", ByteBuffer.allocate(8).putLong(version).array(), null);
            assertEquals(version, operation("k", "{}", setting).version());
        }
        headers.add("v", "20261122".getBytes(UTF_8), null);
        assertEquals(20_261_122, operation("k", "{}", setting).version());
    }

    /** What is a version in any form is taken for one, up to the largest. */
    @Test
    void everyFormOfAVersionIsTaken() throws Exception {
        Object[] forms = {
            (byte) 7, (short) 7, 7, 7.0f, 7.0, new BigDecimal("7.00"), BigInteger.valueOf(7), " 7\t", "0007"
        };
        for (Object form : forms) {
            headers.add("v", form, null);
            assertEquals(7, operation("k", "{}", "external.version.header", "v").version(), form.toString());
        }
        headers.add("v", ByteBuffer.wrap("7".getBytes(UTF_8)), null);
        assertEquals(7, operation("k", "{}", "external.version.header", "v").version());
        headers.add("v", "9223372036854775807", null);
        assertEquals(
                Long.MAX_VALUE,
                operation("k", "{}", "external.version.header", "v").version());
    }

    /** What is no version is refused unread, a negative one above all: it would fail the whole bulk request. */
    @Test
    void whatIsNoVersionIsRefused() {
        Object[][] forms = {
            {-5L, "a number below 0"},
            {-5, "a number below 0"},
            {new BigDecimal("-5"), "a number below 0"},
            {1.5, "a number that is not whole or too large"},
            {Double.NaN, "a number that is not whole or too large"},
            {new BigDecimal("1E+999999999"), "a number that is not whole or too large"},
            {BigInteger.ONE.shiftLeft(63), "a number that is not whole or too large"},
            {"new", "3 characters"},
            {"-5", "2 characters"},
            {"+5", "2 characters"},
            {"٤٢", "2 characters"},
            {"", "0 characters"},
            {"9223372036854775808", "19 characters"},
            {"99999999999999999999", "20 characters"},
            {new byte[0], "0 bytes"},
            {" 5".getBytes(UTF_8), "2 bytes"},
            {new byte[] {0, 0, 0, 5}, "4 bytes"},
            {new byte[] {-1, 0, 0, 0, 0, 0, 0, 5}, "8 bytes below 0"},
            {true, "a Boolean"},
        };
        for (Object[] form : forms) {
            headers.add("v", form[0], null);
            for (String value : new String[] {"{}", null}) {
                assertEquals(
                        "record header v: got " + form[1] + ", expected a version from 0 to 9223372036854775807 as a"
                                + " number, as digits, or as 8 bytes (big-endian)",
                        refusal("k", value, "external.version.header", "v"));
            }
        }
    }

    /** The id in a data stream is the record's place or Elasticsearch's, even if the settings say that keys make ids. */
    @Test
    void keysMakeNoIdsInADataStream() throws Exception {
        String[][] streams = {
            {"data.stream.type", "logs", "data.stream.dataset", "app", "data.stream.namespace", "x"},
            {"external.resource.usage", "DATASTREAM", "topic.to.external.resource.mapping", "Books:logs-app-x"},
            {"external.resource.usage", "ALIAS_DATASTREAM", "topic.to.external.resource.mapping", "Books:logs-app-x"},
        };
        for (String[] stream : streams) {
            String[] generated = Arrays.copyOf(stream, stream.length + 2);
            generated[stream.length] = "use.autogenerated.ids";
            generated[stream.length + 1] = "true";
            for (Object key : new Object[] {"host-1", null}) {
                assertEquals(
                        "logs-app-x\n{\"create\":{\"_id\":\"Books+3+41\"}}\n{\"@timestamp\":1}",
                        lines(key, "{\"@timestamp\":1}", stream));
                assertEquals(
                        "logs-app-x\n{\"create\":{}}\n{\"@timestamp\":1}", lines(key, "{\"@timestamp\":1}", generated));
            }
        }
    }

    /** A data stream gets creates only, and an @timestamp where the document has none. */
    @Test
    void dataStreamsGetCreatesWithATimestamp() throws Exception {
        String[] settings = {
            "data.stream.type", "logs", "data.stream.dataset", "Shop", "data.stream.timestamp.field", "at,seen"
        };
        String action = "logs-shop-books\n{\"create\":{\"_id\":\"Books+3+41\"}}\n";
        assertEquals(
                action + "{\"@timestamp\":\"2024-02-28T23:59:59.999Z\",\"a\":1}", lines("k", " { \"a\":1}", settings));
        assertEquals(action + "{\"@timestamp\":\"2024-02-28T23:59:59.999Z\"}", lines("k", "{ }", settings));
        assertEquals(
                action + "{\"@timestamp\":7,\"seen\":\"x\",\"at\":7}",
                lines("k", "{\"seen\":\"x\",\"at\":7}", settings));
        String own = "{\"a\":{\"@timestamp\":1},\"@timestamp\":2}";
        assertEquals(action + own, lines("k", own, settings));
        timestamp = null;
        assertEquals(
                "record value: got no @timestamp and no record timestamp, expected one of them (a data stream needs it)",
                refusal("k", "{\"a\":{\"@timestamp\":1}}", settings));
    }

    /** A topic goes to the target named for it; into a data stream of any name by creates. */
    @Test
    void topicsGoToTheTargetsNamedForThem() throws Exception {
        String mapping = "films:f,Books:my-books";
        assertEquals(
                "my-books\n{\"index\":{\"_id\":\"k\",\"version_type\":\"external\",\"version\":41}}\n{}",
                lines(
                        "k",
                        "{}",
                        "external.resource.usage",
                        "ALIAS_INDEX",
                        "topic.to.external.resource.mapping",
                        mapping));
        assertEquals(
                "my-books\n{\"create\":{\"_id\":\"Books+3+41\"}}\n{\"@timestamp\":\"2024-02-28T23:59:59.999Z\"}",
                lines(
                        "k",
                        "{}",
                        "external.resource.usage",
                        "datastream",
                        "topic.to.external.resource.mapping",
                        mapping));
    }

    /** Dates in the index name are the record's, in UTC; without a timestamp such a record is malformed. */
    @Test
    void datesInTheIndexNameAreTheRecords() throws Exception {
        String name = "${topic}-{yyyy.MM.dd}-{HH}h";
        assertEquals(
                "books-2024.02.28-23h", operation("k", "{}", "index.name", name).index());
        timestamp = LEAP_DAY + 1;
        assertEquals(
                "books-2024.02.29-00h", operation("k", "{}", "index.name", name).index());
        timestamp = null;
        assertEquals(
                "record timestamp: got none, expected one (index.name has a date in it)",
                refusal("k", "{}", "index.name", name));
    }

    /** Routing comes from the key or a header, for updates and deletes too; without the header there is none. */
    @Test
    void routingComesFromKeyOrHeader() throws Exception {
        String unrouted = lines("k\"", null);
        assertEquals(unrouted, lines("k\"", null, "routing", "header:shop"));
        assertEquals(
                "books\n{\"delete\":{\"_id\":\"k\\\"\",\"routing\":\"k\\\"\",\"version_type\":\"external\",\"version\":41}}",
                lines("k\"", null, "routing", "key"));
        headers.add("shop", "s7".getBytes(UTF_8), null);
        assertEquals(
                "books\n{\"update\":{\"_id\":\"k\",\"routing\":\"s7\",\"retry_on_conflict\":3}}\n"
                        + "{\"doc\":{},\"doc_as_upsert\":true}",
                lines("k", "{}", "routing", "header:shop", "write.method", "upsert"));
        assertEquals(
                "books\n{\"index\":{\"routing\":\"s7\"}}\n{}",
                lines("k", "{}", "routing", "header:shop", "key.ignore", "true", "use.autogenerated.ids", "true"));
    }

    /** Routing comes from the value that a JSON pointer finds, in a document of any shape; without it there is none. */
    @Test
    void routingComesFromTheDocument() throws Exception {
        String[][] documents = {
            {"{\"a\":{\"subInfo\":{\"shop\":\"wrong\"}},\"subInfo\":{\"list\":[{\"shop\":1}],\"shop\":\"s7\"}}", "s7"},
            {"{\"subInfo\":{\"shop\":1009.50,\"b\":{}},\"c\":[]}", "1009.50"},
            {"{\"subInfo\":{\"shop\":true}}", "true"},
            {"{\"subInfo\":{\"shop\":\"\\uc911\\\"\"}}", "중\\\""},
            {"{\"subInfo\":{\"shop\":null}}", null},
            {"{\"subInfo\":{}}", null},
            {"{\"subInfo\":[\"shop\"]}", null},
            {"{}", null},
        };
        for (String[] document : documents) {
            String routed = document[1] == null ? "" : "\"routing\":\"" + document[1] + "\",";
            assertEquals(
                    "books\n{\"index\":{\"_id\":\"k\"," + routed + "\"version_type\":\"external\",\"version\":41}}\n"
                            + document[0],
                    lines("k", document[0], "routing", "/subInfo/shop"));
        }
        assertEquals(
                "books\n{\"index\":{\"routing\":\"b\"}}\n{\"x/y\":[\"a\",\"b\"]}",
                lines(
                        "k",
                        "{\"x/y\":[\"a\",\"b\"]}",
                        "routing",
                        "/x~1y/1",
                        "key.ignore",
                        "true",
                        "use.autogenerated.ids",
                        "true"));
    }

    /** A value that cannot be a routing is refused, content unread; so is one that is too long. */
    @Test
    void whatCannotBeARoutingIsRefused() {
        String[] settings = {"routing", "/shop"};
        assertEquals(
                "record value: got an object at /shop, expected a string, a number or a boolean (it becomes the"
                        + " document's routing)",
                refusal("k", "{\"shop\":{\"id\":7}}", settings));
        assertEquals(
                "record value: got an array at /shop, expected a string, a number or a boolean (it becomes the"
                        + " document's routing)",
                refusal("k", "{\"shop\":[7]}", settings));
        assertEquals(
                "record value at /shop: got 513 bytes, expected 1 to 512 (it becomes the document's routing)",
                refusal("k", "{\"shop\":\"" + "x".repeat(513) + "\"}", settings));
        assertEquals(
                "record value: cannot be read for its routing",
                refusal("k", "{\"a\":" + "[".repeat(1009) + "]".repeat(1009) + "}", settings));
    }

    /** What Kafka knows of a record becomes fields of one object, spliced before the document's own. */
    @Test
    void metadataBecomesFieldsOfOneObject() throws Exception {
        headers.add("raw", new byte[] {(byte) 0xff}, null).add("n", 7, null).add("t", "a\"b".getBytes(UTF_8), null);
        String[] settings = {"metadata.fields", "headers,key,offset,partition,topic,timestamp", "metadata.object", "k"};
        String document = lines("k", "{\"a\":[1]}", settings).split("\n")[2];
        assertEquals(
                "{\"k\":{\"topic\":\"Books\",\"partition\":3,\"offset\":41,\"timestamp\":1709164799999,\"key\":\"k\","
                        + "\"headers\":{\"raw\":\"/w==\",\"n\":7,\"t\":\"a\\\"b\"}},\"a\":[1]}",
                document);
        assertEquals(-1, new JsonObjectCheck().firstOffence(document.getBytes(UTF_8)));
        assertEquals(
                "{\"kafka\":{\"offset\":41}}",
                lines("k", " {\t}", "metadata.fields", "offset").split("\n")[2]);
    }
}
