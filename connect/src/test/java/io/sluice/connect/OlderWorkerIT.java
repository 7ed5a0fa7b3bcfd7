package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** The connector and a task on the classes of older Connect versions, which the build puts into target/kafka-VERSION. */
@ParameterizedClass
@ValueSource(strings = {"3.5", "3.9"})
class OlderWorkerIT {
    private static final String TASK = "io.sluice.connect.ElasticsearchSinkTask";
    private static final String CONTEXT = "org.apache.kafka.connect.sink.SinkTaskContext";

    private final String version;
    private LocalServer server;
    private URLClassLoader older;

    OlderWorkerIT(String version) {
        this.version = version;
    }

    @BeforeEach
    void start() throws Exception {
        server = LocalServer.start(exchange -> {
            try (exchange) {
                exchange.getRequestBody().readAllBytes();
                LocalServer.answer(
                        exchange, 200, "{\"items\":[{\"index\":{\"_index\":\"books\",\"_id\":\"k\",\"status\":201}}]}");
            }
        });
        older = new URLClassLoader(classes(), ClassLoader.getPlatformClassLoader());
    }

    @AfterEach
    void stop() throws Exception {
        older.close();
        server.close();
    }

    /** What a test has, with the older Kafka in place of the one it is built with. */
    private URL[] classes() throws MalformedURLException {
        List<URL> classes = new ArrayList<>();
        for (File jar : Path.of("target", "kafka-" + version).toFile().listFiles()) {
            classes.add(jar.toURI().toURL());
        }
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!entry.contains(Path.of("org", "apache", "kafka").toString())) {
                classes.add(new File(entry).toURI().toURL());
            }
        }
        return classes.toArray(new URL[0]);
    }

    private static Object call(Object target, Class<?> type, String method, Class<?> parameter, Object argument)
            throws ReflectiveOperationException {
        return type.getMethod(method, parameter).invoke(target, argument);
    }

    private Map<String, String> settings() {
        return Map.of("connection.url", server.url(), "name", "older");
    }

    /** The older worker really has no plugin metrics. */
    @Test
    void theOlderWorkerHasNoPluginMetrics() throws Exception {
        Class<?> context = older.loadClass(CONTEXT);
        assertThrows(NoSuchMethodException.class, () -> context.getMethod("pluginMetrics"));
    }

    /** Workers tell the topic that a record was read from since 3.6, and only to those is it known. */
    @Test
    void originalsAreKnownSince36() throws Exception {
        Class<?> origin = older.loadClass("io.sluice.connect.offset.Origin");
        assertEquals(
                version.equals("3.9"), origin.getMethod("workerKeepsOriginals").invoke(null));
    }

    /** The connector judges its settings there. */
    @Test
    void theConnectorJudgesItsSettings() throws Exception {
        Class<?> type = older.loadClass("io.sluice.connect.ElasticsearchSinkConnector");
        Object config = call(type.getConstructor().newInstance(), type, "validate", Map.class, settings());
        Collection<?> values =
                (Collection<?>) config.getClass().getMethod("configValues").invoke(config);
        assertTrue(values.size() > 50);
        for (Object value : values) {
            assertEquals(List.of(), value.getClass().getMethod("errorMessages").invoke(value), value.toString());
        }
    }

    /** A task starts, writes a record and lets its offset be committed there. */
    @Test
    void aTaskWritesThere() throws Exception {
        Class<?> type = older.loadClass(TASK);
        Object task = type.getConstructor().newInstance();
        Object partition = older.loadClass("org.apache.kafka.common.TopicPartition")
                .getConstructor(String.class, int.class)
                .newInstance("books", 0);
        call(task, type, "initialize", older.loadClass(CONTEXT), context());
        call(task, type, "start", Map.class, settings());
        call(task, type, "open", Collection.class, List.of(partition));
        call(task, type, "put", Collection.class, List.of(record()));
        Object next = older.loadClass("org.apache.kafka.clients.consumer.OffsetAndMetadata")
                .getConstructor(long.class)
                .newInstance(1L);
        Map<?, ?> read = Map.of(partition, next);
        assertTimeoutPreemptively(Duration.ofSeconds(20), () -> {
            while (!read.equals(call(task, type, "preCommit", Map.class, read))) {
                Thread.sleep(3);
            }
        });
        call(task, type, "close", Collection.class, List.of(partition));
        type.getMethod("stop").invoke(task);
    }

    /** A task refuses transformations where the worker does not tell what they renamed. */
    @Test
    void transformationsAreRefusedBefore36() throws Exception {
        Class<?> type = older.loadClass(TASK);
        Object task = type.getConstructor().newInstance();
        call(task, type, "initialize", older.loadClass(CONTEXT), context());
        Map<String, String> settings = Map.of("connection.url", server.url(), "name", "older", "transforms", "rename");
        if (version.equals("3.9")) {
            call(task, type, "start", Map.class, settings);
            type.getMethod("stop").invoke(task);
            return;
        }
        InvocationTargetException refusal =
                assertThrows(InvocationTargetException.class, () -> call(task, type, "start", Map.class, settings));
        assertEquals(
                "transforms: got rename, expected none on a worker before Kafka Connect 3.6, which does not tell where a"
                        + " transformed record was read",
                refusal.getCause().getMessage());
    }

    private Object context() throws ClassNotFoundException {
        return Proxy.newProxyInstance(
                older,
                new Class<?>[] {older.loadClass(CONTEXT)},
                (proxy, method, given) -> method.getName().equals("assignment") ? Set.of() : null);
    }

    private Object record() throws ReflectiveOperationException {
        Class<?> schema = older.loadClass("org.apache.kafka.connect.data.Schema");
        return older.loadClass("org.apache.kafka.connect.sink.SinkRecord")
                .getConstructor(String.class, int.class, schema, Object.class, schema, Object.class, long.class)
                .newInstance("books", 0, null, "k", null, "{}".getBytes(UTF_8), 0L);
    }
}
