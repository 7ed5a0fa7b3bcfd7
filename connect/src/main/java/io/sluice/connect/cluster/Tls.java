package io.sluice.connect.cluster;

import io.sluice.connect.config.TlsSettings;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
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

    static SSLContext context(TlsSettings tls) {
        try {
            SSLContext context = SSLContext.getInstance(tls.protocol());
            context.init(keys(tls), trusted(tls), null);
            return context;
        } catch (GeneralSecurityException unusable) {
            throw new ConnectException("elastic.https.ssl.*: cannot set up TLS: " + unusable.getMessage(), unusable);
        }
    }

    private static KeyManager[] keys(TlsSettings tls) throws GeneralSecurityException {
        if (tls.keystore().location() == null) {
            return null;
        }
        KeyStore store = store(tls.keystore());
        Password ofKey = tls.keyPassword() == null ? tls.keystore().password() : tls.keyPassword();
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, characters(ofKey));
        return factory.getKeyManagers();
    }

    private static TrustManager[] trusted(TlsSettings tls) throws GeneralSecurityException {
        if (tls.truststore().location() == null) {
            return null;
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store(tls.truststore()));
        return factory.getTrustManagers();
    }

    private static KeyStore store(TlsSettings.Store given) throws GeneralSecurityException {
        KeyStore store = KeyStore.getInstance(given.type());
        try (InputStream bytes = Files.newInputStream(Path.of(given.location()))) {
            store.load(bytes, characters(given.password()));
        } catch (IOException | InvalidPathException unreadable) {
            throw new ConnectException(
                    given.key() + ": got " + given.location() + ", which cannot be read ("
                            + unreadable.getClass().getSimpleName() + "), expected a " + given.type()
                            + " store that its password opens",
                    unreadable);
        }
        return store;
    }

    private static char[] characters(Password password) {
        return password == null ? null : password.value().toCharArray();
    }
}
