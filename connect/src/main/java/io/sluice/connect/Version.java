package io.sluice.connect;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** The version that the build wrote. */
final class Version {
    private static final String VERSION = read();

    private Version() {}

    static String get() {
        return VERSION;
    }

    private static String read() {
        try (InputStream file = Version.class.getResourceAsStream("version.properties")) {
            Properties properties = new Properties();
            properties.load(file);
            return properties.getProperty("version");
        } catch (IOException error) {
            throw new UncheckedIOException("version.properties: cannot be read", error);
        }
    }
}
