package io.sluice.connect.cluster;

import io.sluice.connect.config.ConnectionSettings;
import io.sluice.connect.config.ProxySettings;
import io.sluice.connect.config.SinkConfig;
import java.io.IOException;
import java.net.ConnectException;
import java.security.NoSuchAlgorithmException;
import java.util.concurrent.CancellationException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import org.apache.hc.client5.http.auth.AuthScope;
import org.apache.hc.client5.http.auth.UsernamePasswordCredentials;
import org.apache.hc.client5.http.config.ConnectionConfig;
import org.apache.hc.client5.http.config.RequestConfig;
import org.apache.hc.client5.http.config.TlsConfig;
import org.apache.hc.client5.http.impl.async.CloseableHttpAsyncClient;
import org.apache.hc.client5.http.impl.async.HttpAsyncClientBuilder;
import org.apache.hc.client5.http.impl.async.HttpAsyncClients;
import org.apache.hc.client5.http.impl.auth.BasicCredentialsProvider;
import org.apache.hc.client5.http.impl.nio.PoolingAsyncClientConnectionManagerBuilder;
import org.apache.hc.client5.http.nio.AsyncClientConnectionManager;
import org.apache.hc.client5.http.protocol.HttpClientContext;
import org.apache.hc.client5.http.ssl.DefaultClientTlsStrategy;
import org.apache.hc.client5.http.ssl.DefaultHostnameVerifier;
import org.apache.hc.client5.http.ssl.HostnameVerificationPolicy;
import org.apache.hc.client5.http.ssl.NoopHostnameVerifier;
import org.apache.hc.core5.concurrent.FutureCallback;
import org.apache.hc.core5.http.Header;
import org.apache.hc.core5.http.HttpHeaders;
import org.apache.hc.core5.http.HttpHost;
import org.apache.hc.core5.http.HttpRequest;
import org.apache.hc.core5.http.message.BasicHttpRequest;
import org.apache.hc.core5.http.nio.AsyncEntityProducer;
import org.apache.hc.core5.http.nio.ssl.TlsStrategy;
import org.apache.hc.core5.http.nio.support.BasicRequestProducer;
import org.apache.hc.core5.http2.HttpVersionPolicy;
import org.apache.hc.core5.io.CloseMode;
import org.apache.hc.core5.reactor.IOReactorConfig;
import org.apache.hc.core5.reactor.IOReactorStatus;
import org.apache.hc.core5.util.TimeValue;
import org.apache.hc.core5.util.Timeout;

/**
 * HTTP/1.1 to the nodes of a cluster: each request to one of them, once. Whoever asks sends again what was not answered;
 * the client below neither repeats a request nor follows a redirection.
 */
public final class ClusterClient implements AutoCloseable {
    /** How often the client looks for requests that have timed out. */
    private static final TimeValue TIMEOUT_CHECK = TimeValue.ofMilliseconds(200);

    /** Beside those for requests: for a probe, for the question for shards, and to ask twice which node it is. */
    private static final int MORE_CONNECTIONS = 4;

    private static final ClusterRequest PROBE = new ClusterRequest("GET", "/");
    private static final ClusterRequest WHO = new ClusterRequest("GET", "/_nodes/_local/http?filter_path=nodes.*.name");
    private static final int TIMES_IDENTIFIED = 2;
    private static final Pattern NODE_ID = Pattern.compile("/nodes/([^/]+)/name");

    private final Nodes nodes;
    private final CloseableHttpAsyncClient http;
    private final Credentials credentials;
    /** What goes with requests that the proxy reads, {@code null} for nothing. */
    private final Header proxyLogin;

    private volatile boolean isClosed;
    private volatile boolean hasEnded;

    /** Hears what became of one request; one of these is called, once, on the client's thread. */
    public interface Listener {
        /**
         * Reads an answer, whatever its status; what is returned runs once the node is known to have answered.
         *
         * @throws IOException it cannot be used: then {@link #unanswered} follows
         */
        Runnable read(Answer answer) throws IOException;

        /** No answer came that can be used; the node is left out for a while. */
        void unanswered(String node, Exception cause);
    }

    /** A client with as many connections to each node as requests may be in flight. */
    public ClusterClient(SinkConfig config) {
        this(
                config,
                config.connection().connectionTimeoutMs(),
                config.connection().readTimeoutMs(),
                config.requests().maxInFlightRequests());
    }

    ClusterClient(SinkConfig config, int connectTimeoutMs, int readTimeoutMs, int connectionsPerNode) {
        ConnectionSettings connection = config.connection();
        ProxySettings proxy = config.proxy();
        nodes = new Nodes(connection.nodes(), System::nanoTime);
        credentials = new Credentials(connection);
        proxyLogin = proxy.username().isEmpty()
                ? null
                : new SecretHeader(
                        HttpHeaders.PROXY_AUTHORIZATION,
                        Credentials.basic(proxy.username(), proxy.password().value()));
        HttpAsyncClientBuilder builder = HttpAsyncClients.custom()
                .disableAutomaticRetries()
                // Another host must not get our credentials, which stand in every request.
                .disableRedirectHandling()
                .disableCookieManagement()
                .disableContentCompression()
                .disableAuthCaching()
                .disableConnectionState()
                // The client's own would write all bytes to its log at DEBUG, and so documents.
                .setIoSessionDecorator(session -> session)
                .setThreadFactory(this::thread)
                .setIOReactorConfig(IOReactorConfig.custom()
                        .setIoThreadCount(1)
                        .setSoKeepAlive(true)
                        .setSelectInterval(TIMEOUT_CHECK)
                        .build())
                .setDefaultRequestConfig(RequestConfig.custom()
                        .setResponseTimeout(Timeout.ofMilliseconds(readTimeoutMs))
                        .setConnectionRequestTimeout(Timeout.ofMilliseconds(readTimeoutMs))
                        .setProtocolUpgradeEnabled(false)
                        .build())
                .setConnectionManager(connections(config, connectTimeoutMs, connectionsPerNode + MORE_CONNECTIONS));
        if (!proxy.host().isEmpty()) {
            builder.setProxy(new HttpHost("http", proxy.host(), proxy.port()));
        }
        if (proxyLogin != null) {
            BasicCredentialsProvider credentials = new BasicCredentialsProvider();
            credentials.setCredentials(
                    new AuthScope(proxy.host(), proxy.port()),
                    new UsernamePasswordCredentials(
                            proxy.username(), proxy.password().value().toCharArray()));
            builder.setDefaultCredentialsProvider(credentials);
        }
        http = builder.build();
        http.start();
    }

    /** The client's own thread ends when it is closed, or after an error that nothing can be done about. */
    private Thread thread(Runnable work) {
        Thread thread = new Thread(
                () -> {
                    try {
                        work.run();
                    } finally {
                        hasEnded = true;
                    }
                },
                "sluice-http");
        thread.setDaemon(true);
        return thread;
    }

    private static AsyncClientConnectionManager connections(SinkConfig config, int connectTimeoutMs, int perNode) {
        return PoolingAsyncClientConnectionManagerBuilder.create()
                .setMaxConnPerRoute(perNode)
                .setMaxConnTotal(perNode * config.connection().nodes().size())
                .setTlsStrategy(tls(config))
                .setDefaultTlsConfig(TlsConfig.custom()
                        .setVersionPolicy(HttpVersionPolicy.FORCE_HTTP_1)
                        .build())
                .setDefaultConnectionConfig(ConnectionConfig.custom()
                        .setConnectTimeout(Timeout.ofMilliseconds(connectTimeoutMs))
                        .build())
                .build();
    }

    private static TlsStrategy tls(SinkConfig config) {
        boolean isVerified = !config.tls().isConfigured() || config.tls().hostVerified();
        try {
            return new DefaultClientTlsStrategy(
                    config.tls().isConfigured() ? Tls.context(config.tls()) : SSLContext.getDefault(),
                    HostnameVerificationPolicy.CLIENT,
                    isVerified ? new DefaultHostnameVerifier() : NoopHostnameVerifier.INSTANCE);
        } catch (NoSuchAlgorithmException unusable) {
            throw new org.apache.kafka.connect.errors.ConnectException(
                    "cannot set up the JVM's own TLS: " + unusable.getMessage(), unusable);
        }
    }

    /** Sends a request to the node whose turn it is. */
    public void send(ClusterRequest request, Listener listener) {
        send(request, "", listener);
    }

    /** Sends a request to the node with this id if it is known and living, otherwise to the one whose turn it is. */
    public void send(ClusterRequest request, String nodeId, Listener listener) {
        Nodes.Attempt probe = nodes.nextProbe();
        if (probe != null) {
            send(PROBE, probe, new Probe());
        }
        send(request, nodes.next(nodeId), listener);
    }

    /** Asks the node whose turn it is; whatever becomes of it, the node is not left out because of it. */
    public void ask(ClusterRequest request, Listener listener) {
        Nodes.Attempt attempt = nodes.next();
        send(request, attempt, new Exchange(attempt, listener, false));
    }

    /** Asks at each URL, twice, which node is there; where the answers differ, it is not known. */
    public void identifyNodes() {
        for (Nodes.Attempt attempt : nodes.toBeIdentified(TIMES_IDENTIFIED)) {
            for (int i = 0; i < TIMES_IDENTIFIED; i++) {
                send(WHO, attempt, new Exchange(attempt, new Identification(attempt.node()), false));
            }
        }
    }

    private void send(ClusterRequest request, Nodes.Attempt attempt, Listener listener) {
        send(request, attempt, new Exchange(attempt, listener, true));
    }

    private void send(ClusterRequest request, Nodes.Attempt attempt, Exchange exchange) {
        Node node = attempt.node();
        HttpRequest head = new BasicHttpRequest(request.method(), node.host(), node.path(request.path()));
        credentials.addTo(head);
        if (proxyLogin != null && !node.isSecure()) {
            head.addHeader(proxyLogin);
        }
        AsyncEntityProducer body =
                request.body() == null ? null : request.body().get();
        try {
            http.execute(
                    new BasicRequestProducer(head, body),
                    new AnswerConsumer(node.toString()),
                    null,
                    HttpClientContext.create(),
                    exchange);
        } catch (RuntimeException unsendable) {
            exchange.failed(unsendable);
        }
    }

    /** Whether it can send at all; once it cannot, it never will again. */
    public boolean isRunning() {
        return !hasEnded && http.getStatus() == IOReactorStatus.ACTIVE;
    }

    /** Whether there is a node that is not left out. */
    public boolean hasLivingNode() {
        return nodes.isAnyLiving();
    }

    /** How many nodes are left out. */
    public int nodesLeftOut() {
        return nodes.leftOut();
    }

    @Override
    public void close() {
        isClosed = true;
        http.close(CloseMode.IMMEDIATE);
    }

    /** What failed, without the address that the client puts before it. */
    static String words(Throwable cause) {
        String message = String.valueOf(cause.getMessage()).replaceFirst("^Connect to .* failed: ", "");
        return cause.getClass().getSimpleName() + ": " + message;
    }

    /** One attempt at one request. */
    private final class Exchange implements FutureCallback<Answer> {
        private final Nodes.Attempt attempt;
        private final Listener listener;
        /** Whether its end tells if the node is there. */
        private final boolean isTelling;

        Exchange(Nodes.Attempt attempt, Listener listener, boolean isTelling) {
            this.attempt = attempt;
            this.listener = listener;
            this.isTelling = isTelling;
        }

        @Override
        public void completed(Answer answer) {
            Runnable reaction;
            try {
                reaction = listener.read(answer);
            } catch (IOException | RuntimeException unusable) {
                unanswered(unusable, unusable.getMessage());
                return;
            }
            if (isTelling && answer.isUnavailable()) {
                nodes.failed(attempt, "status " + answer.status());
            } else if (isTelling) {
                nodes.answered(attempt);
            }
            reaction.run();
        }

        @Override
        public void failed(Exception cause) {
            unanswered(
                    cause,
                    cause instanceof ConnectException
                            ? words(cause)
                            : cause.getClass().getSimpleName());
        }

        @Override
        public void cancelled() {
            failed(new CancellationException("the client was closed"));
        }

        private void unanswered(Exception cause, String why) {
            if (isTelling && !isClosed) {
                nodes.failed(attempt, why);
            }
            listener.unanswered(attempt.node().toString(), cause);
        }
    }

    private final class Identification implements Listener {
        private final Node node;

        Identification(Node node) {
            this.node = node;
        }

        @Override
        public Runnable read(Answer answer) {
            return () -> nodes.identified(node, idIn(answer));
        }

        private static String idIn(Answer answer) {
            try {
                return answer.fewScalars().keySet().stream()
                        .map(NODE_ID::matcher)
                        .filter(Matcher::matches)
                        .map(at -> at.group(1))
                        .findFirst()
                        .orElse("");
            } catch (IOException unusable) {
                return "";
            }
        }

        @Override
        public void unanswered(String url, Exception cause) {
            nodes.notIdentified(node);
        }
    }

    /** Any answer shows that a node is there. */
    private static final class Probe implements Listener {
        @Override
        public Runnable read(Answer answer) {
            return () -> {};
        }

        @Override
        public void unanswered(String node, Exception cause) {
            // It stays out.
        }
    }
}
