package io.sluice.connect;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/** One node of a {@link PlayedCluster}: HTTP/1.1 on a socket, written by hand, so that it can do all that is wrong. */
final class PlayedNode implements AutoCloseable {
    private static final int MOST_ATTEMPTS = 20;

    private final PlayedCluster cluster;
    private final Set<Socket> connections = ConcurrentHashMap.newKeySet();
    private final int port;
    private ServerSocket listening;
    /** Keeps the port while the node is down: another server of this machine would get what is meant for it. */
    private Socket placeholder;

    private boolean isClosed;

    PlayedNode(PlayedCluster cluster) throws IOException {
        this.cluster = cluster;
        listen(0);
        port = listening.getLocalPort();
    }

    private synchronized void listen(int wanted) throws IOException {
        ServerSocket socket = new ServerSocket();
        socket.setReuseAddress(true);
        socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), wanted), 128);
        listening = socket;
        cluster.threads().execute(() -> accept(socket));
    }

    String url() {
        return "http://127.0.0.1:" + port;
    }

    /** Refuses connections, and resets those there are. */
    synchronized void goDown() {
        if (listening.isClosed()) {
            return;
        }
        try {
            listening.close();
            connections.forEach(PlayedNode::reset);
            placeholder = new Socket();
            // With it, any server that asks for some port may be given this one, too.
            placeholder.setReuseAddress(false);
            keepPort();
        } catch (IOException taken) {
            throw new IllegalStateException(taken);
        }
    }

    /** As soon as the last connection to it is forgotten. */
    private void keepPort() throws IOException {
        for (int attempt = 0; ; attempt++) {
            try {
                placeholder.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
                return;
            } catch (BindException inUse) {
                if (attempt == MOST_ATTEMPTS) {
                    return;
                }
                cluster.sleep(1);
            }
        }
    }

    /** Is there again, at the same address. */
    synchronized void comeBack() throws IOException {
        if (listening.isClosed() && !isClosed) {
            placeholder.close();
            listen(port);
        }
    }

    private void accept(ServerSocket socket) {
        while (!socket.isClosed()) {
            try {
                Socket connection = socket.accept();
                connections.add(connection);
                cluster.threads().execute(() -> serve(connection));
            } catch (IOException closed) {
                return;
            }
        }
    }

    private static void reset(Socket socket) {
        try {
            socket.setSoLinger(true, 0);
            socket.close();
        } catch (IOException closed) {
            // It is what was wanted.
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            socket.setTcpNoDelay(true);
            if (cluster.resetsNewConnection()) {
                reset(socket);
                return;
            }
            InputStream in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
            Request request = Request.read(in);
            while (request != null && isKept(request, socket, in)) {
                request = Request.read(in);
            }
        } catch (IOException gone) {
            // The client went, or the node did.
        } finally {
            connections.remove(socket);
        }
    }

    /** Whether the connection is kept once the request is dealt with. */
    private boolean isKept(Request request, Socket socket, InputStream in) throws IOException {
        OutputStream out = socket.getOutputStream();
        if (!request.isBulk() && !request.isAboutDocuments()) {
            request.body(in);
            write(out, 200, "application/json", request.isHead() ? new byte[0] : "{}".getBytes(US_ASCII), "");
            return true;
        }
        PlayedCluster.Misdeed misdeed = cluster.nextMisdeed();
        switch (misdeed) {
            case RESET_IN_MID_UPLOAD -> {
                request.readSome(in, cluster.upTo(request.length()));
                reset(socket);
                return false;
            }
            case ANSWERED_BEFORE_THE_END -> {
                request.readSome(in, cluster.upTo(request.length()));
                write(out, cluster.statusOf(429, 503, 413), "application/json", new byte[0], "Connection: close\r\n");
                return false;
            }
            case GONE_DOWN -> {
                request.readSome(in, cluster.upTo(request.length()));
                cluster.takeDown(this);
                return false;
            }
            default -> {
                String body = request.text(in);
                return respond(misdeed, request.index(), body, socket, out);
            }
        }
    }

    private boolean respond(PlayedCluster.Misdeed misdeed, String index, String body, Socket socket, OutputStream out)
            throws IOException {
        switch (misdeed) {
            case UNAVAILABLE ->
                write(
                        out,
                        cluster.statusOf(429, 502, 503, 504),
                        "text/html",
                        "<html>busy</html>".getBytes(US_ASCII),
                        "");
            case HTML -> write(out, 200, "text/html", "<html>Welcome</html>".getBytes(US_ASCII), "");
            case CLOSED_WITHOUT_AN_ANSWER -> {
                cluster.perhapsStore(index, body);
                return false;
            }
            case NEVER_ANSWERED -> {
                cluster.perhapsStore(index, body);
                cluster.sleep(PlayedCluster.READ_TIMEOUT_MS * 2);
                return false;
            }
            case HALF_AN_ANSWER -> {
                byte[] whole = cluster.store(index, body).body().getBytes(UTF_8);
                head(out, 200, "application/json", "Content-Length: " + whole.length + "\r\n");
                out.write(whole, 0, cluster.upTo(whole.length));
                out.flush();
                if (cluster.flip()) {
                    reset(socket);
                }
                return false;
            }
            case ANOTHERS_ANSWER, OTHER_IDS, PERMUTED -> {
                PlayedElasticsearch.Reply reply = cluster.wrong(misdeed, index, body);
                write(out, reply.status(), "application/json", reply.body().getBytes(UTF_8), "");
            }
            default -> {
                PlayedElasticsearch.Reply reply = cluster.store(index, body);
                write(misdeed, out, reply);
            }
        }
        return true;
    }

    /** The right answer, in one of the ways in which it may come. */
    private void write(PlayedCluster.Misdeed how, OutputStream out, PlayedElasticsearch.Reply reply)
            throws IOException {
        byte[] bytes = reply.body().getBytes(UTF_8);
        switch (how) {
            case CHUNKED -> {
                head(out, reply.status(), "application/json", "Transfer-Encoding: chunked\r\n");
                for (int at = 0; at < bytes.length; ) {
                    int count = 1 + cluster.upTo(bytes.length - at - 1);
                    out.write((Integer.toHexString(count) + "\r\n").getBytes(US_ASCII));
                    out.write(bytes, at, count);
                    out.write("\r\n".getBytes(US_ASCII));
                    out.flush();
                    at += count;
                }
                out.write("0\r\n\r\n".getBytes(US_ASCII));
                out.flush();
            }
            case GZIP -> {
                ByteArrayOutputStream packed = new ByteArrayOutputStream();
                try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
                    gzip.write(bytes);
                }
                write(out, reply.status(), "application/json", packed.toByteArray(), "Content-Encoding: gzip\r\n");
            }
            case BYTE_BY_BYTE -> {
                head(out, reply.status(), "application/json", "Content-Length: " + bytes.length + "\r\n");
                int slow = Math.min(bytes.length, 300);
                for (int i = 0; i < slow; i++) {
                    out.write(bytes[i]);
                    out.flush();
                }
                out.write(bytes, slow, bytes.length - slow);
                out.flush();
            }
            default -> write(out, reply.status(), "application/json", bytes, "");
        }
    }

    private static void write(OutputStream out, int status, String type, byte[] body, String more) throws IOException {
        head(out, status, type, "Content-Length: " + body.length + "\r\n" + more);
        out.write(body);
        out.flush();
    }

    private static void head(OutputStream out, int status, String type, String more) throws IOException {
        out.write(("HTTP/1.1 " + status + " As played\r\nContent-Type: " + type + "\r\n" + more + "\r\n")
                .getBytes(US_ASCII));
    }

    @Override
    public synchronized void close() {
        isClosed = true;
        try {
            listening.close();
            if (placeholder != null) {
                placeholder.close();
            }
        } catch (IOException unclosable) {
            throw new IllegalStateException(unclosable);
        }
        connections.forEach(PlayedNode::reset);
    }

    /** The head of a request; its body is still to be read. */
    private record Request(String method, String path, Map<String, String> headers) {
        private static final int LONGEST_LINE = 1 << 14;

        static Request read(InputStream in) throws IOException {
            String first = line(in);
            if (first == null) {
                return null;
            }
            Map<String, String> headers = new TreeMap<>();
            for (String line = line(in); line != null && !line.isEmpty(); line = line(in)) {
                int colon = line.indexOf(':');
                headers.put(
                        line.substring(0, colon).toLowerCase(Locale.ROOT),
                        line.substring(colon + 1).trim());
            }
            String[] parts = first.split(" ");
            return new Request(parts[0], parts[1], headers);
        }

        private static String line(InputStream in) throws IOException {
            StringBuilder line = new StringBuilder();
            for (int next = in.read(); next >= 0 && line.length() < LONGEST_LINE; next = in.read()) {
                if (next == '\n') {
                    return line.toString();
                }
                if (next != '\r') {
                    line.append((char) next);
                }
            }
            return null;
        }

        boolean isBulk() {
            return path.contains("/_bulk");
        }

        boolean isHead() {
            return method.equals("HEAD");
        }

        boolean isAboutDocuments() {
            return path.equals("/_mget");
        }

        /** Of a bulk request, otherwise {@code null}. */
        String index() {
            return isBulk() ? path.substring(1, path.indexOf("/_bulk")) : null;
        }

        /** As far as it is said. */
        int length() {
            return Integer.parseInt(headers.getOrDefault("content-length", "4096"));
        }

        void readSome(InputStream in, int count) throws IOException {
            in.readNBytes(count);
        }

        byte[] body(InputStream in) throws IOException {
            if (!"chunked".equals(headers.get("transfer-encoding"))) {
                int length = Integer.parseInt(headers.getOrDefault("content-length", "0"));
                return exactly(in, length);
            }
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            while (true) {
                String size = line(in);
                if (size == null) {
                    throw new EOFException("in mid-body");
                }
                int length = Integer.parseInt(size.trim(), 16);
                body.write(exactly(in, length));
                line(in);
                if (length == 0) {
                    return body.toByteArray();
                }
            }
        }

        private static byte[] exactly(InputStream in, int length) throws IOException {
            byte[] bytes = in.readNBytes(length);
            if (bytes.length < length) {
                throw new EOFException("in mid-body");
            }
            return bytes;
        }

        String text(InputStream in) throws IOException {
            byte[] body = body(in);
            boolean isPacked = "gzip".equals(headers.get("content-encoding"));
            return new String(
                    isPacked ? new GZIPInputStream(new ByteArrayInputStream(body)).readAllBytes() : body, UTF_8);
        }
    }
}
