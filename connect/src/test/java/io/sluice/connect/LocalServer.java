package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A server on this machine that hands each request to one handler, on a thread of its own. */
final class LocalServer implements AutoCloseable {
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final HttpHandler handler;
    private final int port;
    private HttpServer server;

    private LocalServer(HttpServer made, HttpHandler handler) {
        this.handler = handler;
        port = made.getAddress().getPort();
        serve(made);
    }

    static LocalServer start(HttpHandler handler) throws IOException {
        return new LocalServer(onPort(0), handler);
    }

    static LocalServer secure(SelfSigned certificate, HttpHandler handler) throws Exception {
        return new LocalServer(certificate.server(), handler);
    }

    static LocalServer secure(HttpsServer made, HttpHandler handler) {
        return new LocalServer(made, handler);
    }

    private static HttpServer onPort(int port) throws IOException {
        return HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
    }

    private void serve(HttpServer made) {
        server = made;
        server.setExecutor(threads);
        server.createContext("/", handler);
        server.start();
    }

    int port() {
        return port;
    }

    String host() {
        return "127.0.0.1:" + port;
    }

    String url() {
        return (server instanceof HttpsServer ? "https://" : "http://") + host();
    }

    /** Lets no connection in, until it comes back. */
    void stop() {
        server.stop(0);
    }

    /** Is there again, at the same address. */
    void comeBack() throws IOException {
        serve(onPort(port));
    }

    /** Answers with JSON. */
    static void answer(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(UTF_8);
        exchange.getResponseHeaders().add("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    /** Answers, and tells it, a question for shards or for who is there, of which a test's server knows nothing. */
    static boolean isAskedForShards(HttpExchange exchange) throws IOException {
        boolean isAsked = exchange.getRequestURI().getPath().matches(".*/(_cluster/state|_nodes/_local)/.*");
        if (isAsked) {
            answer(exchange, 404, "{}");
            exchange.close();
        }
        return isAsked;
    }

    @Override
    public void close() {
        stop();
        threads.shutdownNow();
    }
}
