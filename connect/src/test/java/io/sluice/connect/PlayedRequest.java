package io.sluice.connect;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.GZIPInputStream;

/** The head of a request to a {@link PlayedNode}; its body is still to be read. */
record PlayedRequest(String method, String path, Map<String, String> headers) {
    private static final int LONGEST_LINE = 1 << 14;

    /** What does not begin as a request does: the client and the node disagree where the last one ended. */
    static final class Unframed extends IOException {
        private static final long serialVersionUID = 1;

        Unframed(String line) {
            super("no request begins with " + line);
        }
    }

    /** The next request of a connection, or {@code null} at its end. */
    static PlayedRequest read(InputStream in) throws IOException {
        String first = line(in);
        if (first == null) {
            return null;
        }
        String[] parts = first.split(" ");
        if (parts.length != 3 || !parts[2].equals("HTTP/1.1")) {
            throw new Unframed(first.substring(0, Math.min(first.length(), 100)));
        }
        Map<String, String> headers = new TreeMap<>();
        for (String line = line(in); line != null && !line.isEmpty(); line = line(in)) {
            int colon = line.indexOf(':');
            headers.put(
                    line.substring(0, colon).toLowerCase(Locale.ROOT),
                    line.substring(colon + 1).trim());
        }
        return new PlayedRequest(parts[0], parts[1], headers);
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

    /** Whether it asks for the settings of an index. */
    boolean isAboutIndex() {
        return path.contains("?filter_path=*.settings");
    }

    /** Whether it asks which shards an index has, and where. */
    boolean isAboutShards() {
        return path.startsWith("/_cluster/state/");
    }

    /** Whether it asks which node is there. */
    boolean isAboutNode() {
        return path.startsWith("/_nodes/_local");
    }

    /** Of a bulk request. */
    String index() {
        return path.substring(1, path.indexOf("/_bulk"));
    }

    /** As far as it is said. */
    int length() {
        return Integer.parseInt(headers.getOrDefault("content-length", isChunked() ? "1000" : "0"));
    }

    /** Of a body in chunks nobody knows before its end. */
    boolean isLongerThan(int bytes) {
        return !isChunked() && length() > bytes;
    }

    private boolean isChunked() {
        return "chunked".equals(headers.get("transfer-encoding"));
    }

    /** Reads the whole body and returns it unpacked. */
    String text(InputStream in) throws IOException {
        byte[] body = body(in);
        boolean isPacked = "gzip".equals(headers.get("content-encoding"));
        return new String(isPacked ? new GZIPInputStream(new ByteArrayInputStream(body)).readAllBytes() : body, UTF_8);
    }

    private byte[] body(InputStream in) throws IOException {
        if (!isChunked()) {
            return exactly(in, length());
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
}
