package io.sluice.connect.cluster;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

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

/** The TLS context that elastic.https.ssl.* describes; what is not given is the JVM's. */
final class Tls {
    private Tls() {}

    static SSLContext context(TlsSettings tls) {
        try {
            SSLContext context = SSLContext.getInstance(tls.protocol());
            context.init(keys(tls), trusted(tls), null);
            return context;
        } catch (GeneralSecurityException unusable) {
            throw new UnusableSetting(tls.key(), "cannot set up TLS: " + unusable.getMessage(), unusable);
        }
    }

    private static KeyManager[] keys(TlsSettings tls) throws GeneralSecurityException {
        if (!tls.keystore().isGiven()) {
            return null;
        }
        boolean isPem = tls.keystore().isPem();
        KeyStore store = store(tls.keystore(), pem -> pem.keyed(characters(tls.keyPassword())));
        Password ofKey = tls.keyPassword() == null ? tls.keystore().password() : tls.keyPassword();
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, isPem ? new char[0] : characters(ofKey));
        return factory.getKeyManagers();
    }

    private static TrustManager[] trusted(TlsSettings tls) throws GeneralSecurityException {
        if (!tls.truststore().isGiven()) {
            return null;
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store(tls.truststore(), Pem::trusted));
        return factory.getTrustManagers();
    }

    private static KeyStore store(TlsSettings.Store given, OfPem ofPem) throws GeneralSecurityException {
        return given.isPem() ? pemStore(given, ofPem) : binaryStore(given);
    }

    private interface OfPem {
        KeyStore store(Pem pem) throws GeneralSecurityException, IOException;
    }

    private static KeyStore pemStore(TlsSettings.Store given, OfPem ofPem) {
        String expected = "certificates in PEM, with a private key in a key store";
        try {
            String text = given.pem() == null ? Files.readString(Path.of(given.location()), ISO_8859_1) : given.pem();
            return ofPem.store(new Pem(text));
        } catch (IOException | InvalidPathException unreadable) {
            throw unreadable(given, expected, unreadable);
        } catch (GeneralSecurityException unusable) {
            String where = given.location() == null ? "" : " in " + given.location();
            throw new UnusableSetting(
                    given.key(), "got " + unusable.getMessage() + where + ", expected " + expected, unusable);
        }
    }

    private static KeyStore binaryStore(TlsSettings.Store given) throws GeneralSecurityException {
        KeyStore store = KeyStore.getInstance(given.type());
        try (InputStream bytes = Files.newInputStream(Path.of(given.location()))) {
            store.load(bytes, characters(given.password()));
        } catch (IOException | InvalidPathException unreadable) {
            throw unreadable(
                    given, "a " + given.type() + " store that its password opens, or the type PEM", unreadable);
        }
        return store;
    }

    private static UnusableSetting unreadable(TlsSettings.Store given, String expected, Exception cause) {
        return new UnusableSetting(
                given.key(),
                "got " + given.location() + ", which cannot be read ("
                        + cause.getClass().getSimpleName() + "), expected " + expected,
                cause);
    }

    private static char[] characters(Password password) {
        return password == null ? null : password.value().toCharArray();
    }
}
