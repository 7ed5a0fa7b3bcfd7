package io.sluice.connect.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.sluice.connect.config.SinkConfig;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** How long a cluster is asked. */
class QuestionsIT {
    /** All questions together take no longer than they may, however long one of them might take. */
    @Test
    void allQuestionsEndInTime() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            SinkConfig config = new SinkConfig(Map.of("connection.url", "http://127.0.0.1:" + silent.getLocalPort()));
            try (ClusterClient client = new ClusterClient(config)) {
                Questions questions = new Questions(client, 211);
                for (int question = 0; question < 2; question++) {
                    Unanswered unanswered =
                            assertThrows(Unanswered.class, () -> questions.ask(new ClusterRequest("GET", "/")));
                    assertEquals("nothing within 211 ms", unanswered.getMessage());
                }
            }
        }
    }
}
