package io.sluice.connect.cluster;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.sluice.connect.config.ConnectionSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A bearer token in a file that may be replaced at any time, as Kubernetes does with those that it projects. */
final class TokenFile {
    private static final Logger LOG = LoggerFactory.getLogger(TokenFile.class);

    private final String path;
    private volatile String lastToken;
    private volatile boolean isReadable = true;

    TokenFile(String path) {
        this.path = path;
        try {
            lastToken = read();
        } catch (IOException | InvalidPathException unreadable) {
            throw new UnusableSetting(
                    ConnectionSettings.CONNECTION_BEARER_TOKEN_FILE,
                    "got " + path + ", which cannot be read ("
                            + unreadable.getClass().getSimpleName() + "), expected a file with one token",
                    unreadable);
        }
    }

    /** What stands in the file now or, if that is no token, what stood in it before. */
    String token() {
        try {
            lastToken = read();
            isReadable = true;
        } catch (IOException unreadable) {
            if (isReadable) {
                LOG.warn("{}: cannot be read; the token before is used", path, unreadable);
            }
            isReadable = false;
        }
        return lastToken;
    }

    private String read() throws IOException {
        String token = Files.readString(Path.of(path), ISO_8859_1).trim();
        if (!ConnectionSettings.isToken(token)) {
            throw new IOException("no token in " + path);
        }
        return token;
    }
}
