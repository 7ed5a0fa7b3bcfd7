package io.sluice.connect;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.zip.GZIPOutputStream;

/** The ways in which an answer may come over a connection, whole or not. */
final class PlayedAnswer {
    private static final String JSON = "application/json";
    private static final String CHUNKED = "Transfer-Encoding: chunked\r\n";
    private static final String PACKED = "Content-Encoding: gzip\r\n";
    private static final int SLOW_BYTES = 40;
    private static final int PIECES = 8;

    private final PlayedCluster cluster;
    private final OutputStream out;

    PlayedAnswer(PlayedCluster cluster, OutputStream out) {
        this.cluster = cluster;
        this.out = out;
    }

    /** Writes the right answer; returns whether the connection can be used for another. */
    boolean write(PlayedCluster.Misdeed how, PlayedElasticsearch.Reply reply) throws IOException {
        byte[] body = reply.body().getBytes(UTF_8);
        switch (how) {
            case CHUNKED -> chunked(reply.status(), body, "");
            case GZIP -> write(reply.status(), JSON, packed(body), PACKED);
            case GZIP_IN_CHUNKS -> chunked(reply.status(), packed(body), PACKED);
            case BYTE_BY_BYTE -> byteByByte(reply.status(), body);
            case SLOWER_THAN_THE_TIMEOUT -> inPieces(reply.status(), body);
            case INFORMED_FIRST -> {
                ascii("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </_nodes>\r\n\r\n");
                write(reply.status(), JSON, body, "");
            }
            case OLD_HTTP -> {
                old(reply.status(), body);
                return false;
            }
            default -> write(reply.status(), JSON, body, "");
        }
        return true;
    }

    /** Writes less than the right answer, after which the connection ends. */
    void writePart(PlayedCluster.Misdeed how, PlayedElasticsearch.Reply reply) throws IOException {
        byte[] body = reply.body().getBytes(UTF_8);
        int part = cluster.upTo(body.length - 1);
        switch (how) {
            case HALF_IN_CHUNKS -> {
                head("HTTP/1.1", reply.status(), JSON, CHUNKED);
                chunk(Arrays.copyOf(body, part + 1));
            }
            case HALF_OF_OLD_HTTP -> old(reply.status(), Arrays.copyOf(body, part));
            default -> {
                head("HTTP/1.1", reply.status(), JSON, "Content-Length: " + body.length + "\r\n");
                out.write(body, 0, part);
            }
        }
        out.flush();
    }

    /** Writes as much as is said, of which half is missing. */
    void writeCutPacked(PlayedElasticsearch.Reply reply) throws IOException {
        byte[] packed = packed(reply.body().getBytes(UTF_8));
        write(reply.status(), JSON, Arrays.copyOf(packed, cluster.upTo(packed.length - 1)), PACKED);
    }

    void write(int status, String type, byte[] body, String more) throws IOException {
        head("HTTP/1.1", status, type, "Content-Length: " + body.length + "\r\n" + more);
        out.write(body);
        out.flush();
    }

    private void head(String version, int status, String type, String more) throws IOException {
        ascii(version + " " + status + " As played\r\nContent-Type: " + type + "\r\n" + more + "\r\n");
    }

    private void ascii(String text) throws IOException {
        out.write(text.getBytes(US_ASCII));
    }

    /** The end of the connection is the end of the body. */
    private void old(int status, byte[] body) throws IOException {
        head("HTTP/1.0", status, JSON, "");
        out.write(body);
        out.flush();
    }

    private void chunked(int status, byte[] body, String more) throws IOException {
        head("HTTP/1.1", status, JSON, CHUNKED + more);
        for (int at = 0; at < body.length; ) {
            int count = 1 + cluster.upTo(body.length - at - 1);
            chunk(Arrays.copyOfRange(body, at, at + count));
            out.flush();
            at += count;
        }
        ascii("0\r\n\r\n");
        out.flush();
    }

    private void chunk(byte[] bytes) throws IOException {
        ascii(Integer.toHexString(bytes.length) + "\r\n");
        out.write(bytes);
        ascii("\r\n");
    }

    private void byteByByte(int status, byte[] body) throws IOException {
        head("HTTP/1.1", status, JSON, "Content-Length: " + body.length + "\r\n");
        int slow = Math.min(body.length, SLOW_BYTES);
        for (int i = 0; i < slow; i++) {
            out.write(body[i]);
            out.flush();
            cluster.sleep(1);
        }
        out.write(body, slow, body.length - slow);
        out.flush();
    }

    /** No pause is as long as the client's timeout, all of them are. */
    private void inPieces(int status, byte[] body) throws IOException {
        head("HTTP/1.1", status, JSON, "Content-Length: " + body.length + "\r\n");
        for (int piece = 0; piece < PIECES; piece++) {
            int from = body.length * piece / PIECES;
            out.write(body, from, body.length * (piece + 1) / PIECES - from);
            out.flush();
            cluster.sleep(PlayedCluster.READ_TIMEOUT_MS / (PIECES - 2));
        }
    }

    private static byte[] packed(byte[] body) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write(body);
        }
        return packed.toByteArray();
    }
}
