package io.sluice.connect;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;

/** One node of a {@link PlayedCluster}: HTTP/1.1 on a socket, written by hand, so that it can do all that is wrong. */
final class PlayedNode implements AutoCloseable {
    /** A name with several addresses, of which the node has one. */
    private static final String HOST = System.getProperty("failover.host", "127.0.0.1");

    private static final int MOST_ATTEMPTS = 500;
    private static final int RECEIVE_BYTES = 16 << 10;

    private final PlayedCluster cluster;
    /** {@code null} where the node does not speak TLS. */
    private final SSLContext tls;

    private final Set<Socket> connections = ConcurrentHashMap.newKeySet();
    private final int port;
    private ServerSocket listening;
    /** Keeps the port while the node is down: another server of this machine would get what is meant for it. */
    private Socket placeholder;

    private boolean isClosed;
    private volatile boolean isDeaf;

    PlayedNode(PlayedCluster cluster, SSLContext tls) throws IOException {
        this.cluster = cluster;
        this.tls = tls;
        listen(0);
        port = listening.getLocalPort();
    }

    private synchronized void listen(int wanted) throws IOException {
        ServerSocket socket = new ServerSocket();
        // A port of its own is nobody's placeholder.
        socket.setReuseAddress(wanted > 0);
        // Small, so that who writes to a node that does not read is stopped.
        socket.setReceiveBufferSize(RECEIVE_BYTES);
        socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), wanted), 128);
        // So that its connections, once closed, leave the port to it.
        socket.setReuseAddress(true);
        listening = socket;
        cluster.threads().execute(() -> accept(socket));
    }

    String url() {
        return tls == null ? "http://" + HOST + ":" + port : "https://127.0.0.1:" + port;
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
            // Else the last connections that the node closed would keep it from the port for a minute.
            placeholder.setReuseAddress(true);
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
        isDeaf = false;
        if (listening.isClosed() && !isClosed) {
            placeholder.close();
            listenAgain();
        }
    }

    /** Whoever was given the port between two sockets of the node has it for a short while only. */
    private void listenAgain() throws IOException {
        for (int attempt = 0; ; attempt++) {
            try {
                listen(port);
                return;
            } catch (BindException inUse) {
                if (attempt == MOST_ATTEMPTS) {
                    throw inUse;
                }
                cluster.sleep(1);
            }
        }
    }

    /** Reads nothing any more; connections are made, and take what goes into their buffers. */
    void goDeaf() {
        isDeaf = true;
    }

    void hearAgain() {
        isDeaf = false;
    }

    private void awaitHearing() {
        while (isDeaf && !Thread.currentThread().isInterrupted()) {
            cluster.sleep(5);
        }
    }

    private void accept(ServerSocket socket) {
        while (!socket.isClosed()) {
            try {
                Socket connection = socket.accept();
                awaitHearing();
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

    private void serve(Socket connection) {
        try (connection) {
            connection.setTcpNoDelay(true);
            if (cluster.resetsNewConnection()) {
                // Before TLS has begun, or while it does.
                connection.getInputStream().readNBytes(cluster.upTo(100));
                reset(connection);
                return;
            }
            converse(connection, tls == null ? connection : secured(connection));
        } catch (PlayedRequest.Unframed unframed) {
            cluster.offend(unframed.getMessage());
        } catch (IOException gone) {
            // The client went, or the node did.
        } finally {
            connections.remove(connection);
        }
    }

    private Socket secured(Socket connection) throws IOException {
        SSLSocket secured = (SSLSocket) tls.getSocketFactory().createSocket(connection, null, port, false);
        secured.setUseClientMode(false);
        return secured;
    }

    private void converse(Socket connection, Socket talk) throws IOException {
        InputStream in = new BufferedInputStream(talk.getInputStream(), RECEIVE_BYTES);
        boolean isKept = true;
        while (isKept) {
            awaitHearing();
            PlayedRequest request = PlayedRequest.read(in);
            awaitHearing();
            isKept = request != null && isKept(request, in, connection, talk);
        }
        if (cluster.flip()) {
            // Over TLS the other end is told.
            talk.close();
        }
    }

    /** Whether the connection is kept once the request is dealt with. */
    private boolean isKept(PlayedRequest request, InputStream in, Socket connection, Socket talk) throws IOException {
        PlayedAnswer answer = new PlayedAnswer(cluster, talk.getOutputStream());
        if (request.isHead()) {
            answer.write(200, "application/json", new byte[0], "");
            return true;
        }
        PlayedCluster.Misdeed misdeed = cluster.nextMisdeed(request);
        return misdeed.isInMidUpload()
                ? isKeptInMidUpload(misdeed, request, in, connection, talk, answer)
                : isKept(misdeed, new PlayedCluster.Question(request, request.text(in)), in, connection, answer);
    }

    private boolean isKeptInMidUpload(
            PlayedCluster.Misdeed misdeed,
            PlayedRequest request,
            InputStream in,
            Socket connection,
            Socket talk,
            PlayedAnswer answer)
            throws IOException {
        if (misdeed == PlayedCluster.Misdeed.READ_SLOWLY) {
            String body = request.text(new SlowInput(in, cluster));
            return answer.write(PlayedCluster.Misdeed.NONE, cluster.store(new PlayedCluster.Question(request, body)));
        }
        if (misdeed == PlayedCluster.Misdeed.ANSWERED_BEFORE_THE_END_AND_KEPT) {
            answer.write(cluster.refusal(request), "application/json", new byte[0], "");
            request.text(in);
            return true;
        }
        in.readNBytes(cluster.upTo(request.length()));
        switch (misdeed) {
            case RESET_IN_MID_UPLOAD -> reset(connection);
            case NOT_READ -> cluster.sleep(PlayedCluster.READ_TIMEOUT_MS * 2);
            case GONE_DOWN -> cluster.takeDown(this);
            case GONE_DEAF -> cluster.deafen(this);
            default -> {
                answer.write(cluster.refusal(request), "application/json", new byte[0], "Connection: close\r\n");
                if (misdeed == PlayedCluster.Misdeed.ANSWERED_BEFORE_THE_END_AND_READ) {
                    talk.shutdownOutput();
                    in.transferTo(java.io.OutputStream.nullOutputStream());
                }
            }
        }
        return false;
    }

    private boolean isKept(
            PlayedCluster.Misdeed misdeed,
            PlayedCluster.Question question,
            InputStream in,
            Socket connection,
            PlayedAnswer answer)
            throws IOException {
        switch (misdeed) {
            case UNAVAILABLE ->
                answer.write(
                        cluster.refusal(question.request()), "text/html", "<html>busy</html>".getBytes(US_ASCII), "");
            case HTML -> answer.write(200, "text/html", "<html>Welcome</html>".getBytes(US_ASCII), "");
            case EMPTY -> answer.write(200, "application/json", new byte[0], "");
            case CLOSED_WITHOUT_AN_ANSWER -> {
                cluster.perhapsStore(question);
                return false;
            }
            case NEVER_ANSWERED -> {
                cluster.perhapsStore(question);
                cluster.sleep(PlayedCluster.READ_TIMEOUT_MS * 2);
                // Long after the client has sent it again to another node.
                cluster.perhapsStore(question);
                return false;
            }
            case HALF_AN_ANSWER, HALF_IN_CHUNKS, HALF_OF_OLD_HTTP -> {
                answer.writePart(misdeed, cluster.store(question));
                if (cluster.flip()) {
                    reset(connection);
                }
                return false;
            }
            case CUT_GZIP -> answer.writeCutPacked(cluster.store(question));
            case ANOTHERS_ANSWER, OTHER_IDS, PERMUTED ->
                answer.write(PlayedCluster.Misdeed.NONE, cluster.wrong(misdeed, question));
            case SOME_REFUSED -> answer.write(misdeed, cluster.storeSome(question));
            case CLOSED_AFTER_THE_ANSWER -> {
                answer.write(misdeed, cluster.store(question));
                closeIdle(in);
                return false;
            }
            default -> {
                return answer.write(misdeed, cluster.store(question));
            }
        }
        return true;
    }

    /** What the client sends on a connection that is just being closed is taken or not; it is never answered. */
    private void closeIdle(InputStream in) throws IOException {
        cluster.sleep(cluster.upTo(3));
        if (in.available() > 0 && cluster.flip()) {
            PlayedRequest late = PlayedRequest.read(in);
            if (late != null) {
                cluster.perhapsStore(new PlayedCluster.Question(late, late.text(in)));
            }
        }
    }

    @Override
    public synchronized void close() {
        isClosed = true;
        isDeaf = false;
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
}
