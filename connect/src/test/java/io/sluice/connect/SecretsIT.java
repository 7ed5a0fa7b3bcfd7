package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.connect.errors.ConnectException;
import org.junit.jupiter.api.Test;

/** What the task keeps to itself when everything goes wrong. */
class SecretsIT extends MisbehavingServer {
    private static final String PASSWORD = "pa55w0rd-marker";
    private static final String API_KEY = "YXBpLWtleS1tYXJrZXI=";
    private static final String DOCUMENT = LogSafety.DOCUMENT;
    private static final String HEADER = "header-marker";
    private static final String PROXY_PASSWORD = "proxy-pa55w0rd-marker";

    /** Whatever goes wrong, no log line holds a password, an API key or anything of a document. */
    @Test
    void nothingSecretIsLogged() throws Exception {
        misbehaviour = (request, exchange, ids) -> {
            String quoting = "{\"type\":\"x_exception\",\"reason\":\"request [source[" + DOCUMENT + "]]\"}";
            int status = new int[] {503, 400, 500, 429, 0, 401}[request % 6];
            if (status == 0) {
                return answer(exchange, 200, "{\"items\":[" + DOCUMENT);
            }
            if (request % 12 < 6 && status != 400) {
                return answer(
                        exchange,
                        status == 401 ? 503 : status,
                        "{\"error\":{\"type\":\"x_exception\",\"reason\":\"busy\"}}");
            }
            String items = ids.stream()
                    .map(id -> item(exchange, id, "\"status\":" + status + ",\"error\":" + quoting))
                    .collect(Collectors.joining(","));
            return answer(exchange, 200, "{\"items\":[" + items + "]}");
        };
        String[][] access = {
            {"connection.username", "sluice", "connection.password", PASSWORD},
            {"connection.api.key", API_KEY, "connection.headers", "X-Tenant:" + HEADER},
            {
                "proxy.host",
                "127.0.0.1",
                "proxy.port",
                Integer.toString(server.port()),
                "proxy.username",
                "p",
                "proxy.password",
                PROXY_PASSWORD
            },
        };
        try (CapturedLog log = new CapturedLog()) {
            for (String[] credentials : access) {
                for (String onMalformed : new String[] {"report", "warn", "fail"}) {
                    provoke(onMalformed, credentials);
                }
            }
            assertTrue(log.linesWith("stopped; {RecordsRead=").size() >= 9);
            assertTrue(log.linesWith("status 400 x_exception").size() >= 2);
            assertTrue(log.linesWith("stalled: ").size() >= 1);
            assertTrue(log.linesWith("unrecoverable exception").size() >= 2);
            for (String secret : new String[] {PASSWORD, API_KEY, HEADER, PROXY_PASSWORD, DOCUMENT}) {
                assertEquals(List.of(), log.linesWith(secret));
            }
        }
    }

    /** Lets a task meet the server until it fails or a second is over; its failure is logged as a worker would. */
    private void provoke(String onMalformed, String... more) throws InterruptedException {
        Map<String, String> settings = Map.of(
                "behavior.on.malformed.documents", onMalformed,
                "batch.size", "3",
                "max.retries", "2",
                "flush.timeout.ms", "0",
                "stall.timeout.ms", "7");
        try (TaskHarness harness = new TaskHarness(server.url(), TaskHarness.settings(settings, more))) {
            for (int i = 0; i < 100; i++) {
                harness.put(List.of(
                        harness.record(DOCUMENT + i, "{\"a\":\"" + DOCUMENT + "\"}"),
                        harness.record(DOCUMENT + i, "{\"" + DOCUMENT + "\"")));
                sleep(11);
            }
        } catch (ConnectException failure) {
            // The harness has logged it.
        }
    }
}
