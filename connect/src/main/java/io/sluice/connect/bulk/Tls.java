package io.sluice.connect.bulk;

import io.sluice.connect.config.SinkConfig;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.connect.errors.ConnectException;

/** The TLS context that elastic.https.ssl.* describes; what is not given is the JVM's. */
final class Tls {
    private Tls() {}

    static SSLContext context(SinkConfig config) {
        try {
            SSLContext context = SSLContext.getInstance(config.tlsProtocol());
            context.init(keys(config), trusted(config), null);
            return context;
        } catch (GeneralSecurityException | IOException unusable) {
            throw new ConnectException("elastic.https.ssl.*: cannot set up TLS: " + unusable.getMessage(), unusable);
        }
    }

    private static KeyManager[] keys(SinkConfig config) throws GeneralSecurityException, IOException {
        if (config.keystoreLocation() == null) {
            return null;
        }
        KeyStore store = store(config.keystoreLocation(), config.keystoreType(), config.keystorePassword());
        Password ofKey = config.keyPassword() == null ? config.keystorePassword() : config.keyPassword();
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, characters(ofKey));
        return factory.getKeyManagers();
    }

    private static TrustManager[] trusted(SinkConfig config) throws GeneralSecurityException, IOException {
        if (config.truststoreLocation() == null) {
            return null;
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store(config.truststoreLocation(), config.truststoreType(), config.truststorePassword()));
        return factory.getTrustManagers();
    }

    private static KeyStore store(String location, String type, Password password)
            throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance(type);
        try (InputStream bytes = Files.newInputStream(Path.of(location))) {
            store.load(bytes, characters(password));
        }
        return store;
    }

    private static char[] characters(Password password) {
        return password == null ? null : password.value().toCharArray();
    }
}
