package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.SinkRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** One of two indices takes nothing for a while; the server as for {@link RealElasticsearch}. */
@EnabledIfEnvironmentVariable(named = "SLUICE_TEST_ELASTICSEARCH_URL", matches = "http.*")
class RealUnservedTargetsIT extends RealElasticsearch {
    private static final TopicPartition FILMS = new TopicPartition("films", 0);
    private static final String OTHER = "sluice-it-films";
    private static final int RECORDS = 211;

    @BeforeEach
    void makeOther() throws Exception {
        removeOther();
        ask("PUT", "/" + OTHER, "{\"settings\":{\"number_of_replicas\":0}}");
    }

    @AfterEach
    void removeOther() throws Exception {
        ask("DELETE", "/" + OTHER, null);
    }

    @Test
    void aClosedIndexStopsItsTopicOnlyUntilItIsOpened() throws Exception {
        ask("POST", "/" + OTHER + "/_close", null);
        assertOnlyFilmsWait("/" + OTHER + "/_open", "POST", null);
    }

    @Test
    void aBlockedIndexStopsItsTopicOnlyUntilItMayBeWrittenTo() throws Exception {
        ask("PUT", "/" + OTHER + "/_settings", "{\"index.blocks.write\":true}");
        assertOnlyFilmsWait("/" + OTHER + "/_settings", "PUT", "{\"index.blocks.write\":null}");
    }

    private static void assertOnlyFilmsWait(String path, String method, String body) throws Exception {
        Map<String, String> settings = Map.of(
                "external.resource.usage", "INDEX",
                "topic.to.external.resource.mapping", "books:" + INDEX + ",films:" + OTHER,
                "batch.size", "31");
        try (TaskHarness harness = new TaskHarness(List.of(TaskHarness.PARTITION, FILMS), URL, settings)) {
            List<SinkRecord> records = new ArrayList<>();
            for (int i = 0; i < RECORDS; i++) {
                records.add(harness.record(FILMS, "k" + i, "{}"));
                records.add(harness.record("k" + i, "{}"));
            }
            harness.put(records);
            harness.await(() -> harness.text("ParkedTargets").equals(OTHER));
            harness.putUntilInFlight(RECORDS);
            assertEquals(Map.of("Indexed", (long) RECORDS), harness.fates());
            assertEquals(RECORDS, harness.committable());
            assertEquals(0, harness.committable(FILMS));
            ask(method, path, body);
            harness.putUntilCompleted();
            assertEquals(Map.of("Indexed", 2L * RECORDS), harness.fates());
            assertEquals(RECORDS, harness.committable(FILMS));
            assertEquals(Set.of(), harness.deadLetters);
            assertEquals(RECORDS, count());
            ask("POST", "/" + OTHER + "/_refresh", null);
            assertEquals("{\"count\":" + RECORDS + "}", ask("GET", "/" + OTHER + "/_count?filter_path=count", null));
        }
    }
}
