package io.sluice.connect.config;

import static org.apache.kafka.common.config.ConfigDef.Importance.MEDIUM;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.types.Password;

/** What TLS trusts and shows; without it the JVM decides. */
public final class TlsSettings {
    private static final String SECURITY_PROTOCOL = "elastic.security.protocol";
    private static final String TLS_PROTOCOL = "elastic.https.ssl.protocol";
    static final String ENDPOINT_IDENTIFICATION = "elastic.https.ssl.endpoint.identification.algorithm";
    private static final String TLS_KEY_PASSWORD = "elastic.https.ssl.key.password";
    private static final String TLS_KEYSTORE = "elastic.https.ssl.keystore.";
    private static final String TLS_TRUSTSTORE = "elastic.https.ssl.truststore.";
    private static final String LOCATION = "location";
    private static final String STORE_PASSWORD = "password";
    private static final String STORE_TYPE = "type";
    private static final String CERTIFICATES = "certificates";
    private static final String CHAIN = "certificate.chain";
    private static final String KEY = "key";
    private static final String PEM = "PEM";

    private final AbstractConfig values;

    TlsSettings(AbstractConfig values) {
        this.values = values;
    }

    static void define(ConfigDef definition) {
        SettingsGroup settings = new SettingsGroup(definition, "TLS");
        settings.choice(SECURITY_PROTOCOL, "Security protocol", SecurityProtocol.class, "PLAINTEXT")
                .importance(MEDIUM)
                .means("PLAINTEXT, or SSL to use elastic.https.ssl.*, which refuses http URLs. With PLAINTEXT, "
                        + "https URLs are verified with the trust store of the JVM.");
        settings.text(TLS_PROTOCOL, "TLS protocol").byDefault("TLSv1.3").means("Protocol of the TLS context.");
        settings.text(ENDPOINT_IDENTIFICATION, "Host verification")
                .byDefault("https")
                .means("https verifies that the certificate is for the host. Empty: any host is accepted.");
        settings.secret(TLS_KEY_PASSWORD, "Key password")
                .means("Password of the private key, also of an encrypted one in PEM. Blank: that of the key store.");
        defineStore(
                settings,
                TLS_KEYSTORE,
                "Key store",
                "Path of the store with the client's key and certificate. Blank: none.",
                "Of PEM: one file with both.");
        settings.secret(TLS_KEYSTORE + CHAIN, "Certificate chain")
                .means("The client's certificate and those above it in PEM, instead of a path. Needs "
                        + "elastic.https.ssl.keystore.type=PEM and elastic.https.ssl.keystore.key.");
        settings.secret(TLS_KEYSTORE + KEY, "Private key")
                .means("The client's private key in PEM. Needs elastic.https.ssl.keystore.certificate.chain.");
        defineStore(
                settings,
                TLS_TRUSTSTORE,
                "Trust store",
                "Path of the store with the authorities to trust. Blank: those of the JVM.",
                "Of PEM: a file with one certificate or more, such as ca.crt.");
        settings.secret(TLS_TRUSTSTORE + CERTIFICATES, "Trusted certificates")
                .means("The certificates to trust in PEM, instead of a path. Needs "
                        + "elastic.https.ssl.truststore.type=PEM.");
    }

    private static void defineStore(SettingsGroup settings, String keys, String name, String location, String ofPem) {
        settings.text(keys + LOCATION, name).byDefault(null).means(location + " " + ofPem);
        settings.secret(keys + STORE_PASSWORD, name + " password").means("Password of the store; refused with PEM.");
        settings.text(keys + STORE_TYPE, name + " type")
                .byDefault("JKS")
                .means("Type of the store: JKS, PKCS12, PEM, or another that the JVM knows.");
    }

    static void check(Findings findings) {
        boolean isPlain = findings.valueOf(ConnectionSettings.CONNECTION_URL) instanceof List<?> urls
                && urls.stream().anyMatch(url -> url.toString().regionMatches(true, 0, "http:", 0, "http:".length()));
        if (isPlain && findings.isText(SECURITY_PROTOCOL, "ssl")) {
            findings.refuse(
                    ConnectionSettings.CONNECTION_URL,
                    "got http URLs, expected https with " + SECURITY_PROTOCOL + "=SSL");
        }
        findings.requireEffect(TLS_PROTOCOL, findings.isText(SECURITY_PROTOCOL, "ssl"), SECURITY_PROTOCOL + "=SSL");
        checkStore(findings, TLS_TRUSTSTORE, CERTIFICATES);
        checkStore(findings, TLS_KEYSTORE, CHAIN);
        findings.requireBoth(TLS_KEYSTORE + CHAIN, TLS_KEYSTORE + KEY);
        for (String key : List.of(
                TLS_TRUSTSTORE + LOCATION,
                TLS_TRUSTSTORE + CERTIFICATES,
                TLS_KEYSTORE + LOCATION,
                TLS_KEYSTORE + CHAIN)) {
            if (findings.isGiven(key) && !findings.isText(SECURITY_PROTOCOL, "ssl")) {
                findings.refuse(SECURITY_PROTOCOL, "got PLAINTEXT, expected SSL with " + key);
            }
        }
    }

    /** As Kafka checks its own keys of these names. */
    private static void checkStore(Findings findings, String keys, String inPlace) {
        boolean isPem = findings.isText(keys + STORE_TYPE, PEM);
        boolean isInPlace = findings.isGiven(keys + inPlace);
        if (isInPlace && !isPem) {
            findings.refuse(
                    keys + STORE_TYPE,
                    "got " + findings.valueOf(keys + STORE_TYPE) + ", expected PEM with " + keys + inPlace);
        }
        if (isInPlace && findings.isGiven(keys + LOCATION)) {
            findings.refuse(keys + LOCATION, "got a path, expected none with " + keys + inPlace);
        }
        if (isPem && findings.isGiven(keys + STORE_PASSWORD)) {
            findings.refuse(
                    keys + STORE_PASSWORD,
                    "got a password, expected none with PEM; that of a private key is " + TLS_KEY_PASSWORD);
        }
    }

    /** The setting that stands for all of TLS. */
    public String key() {
        return SECURITY_PROTOCOL;
    }

    public boolean isConfigured() {
        return SecurityProtocol.valueOf(values.getString(SECURITY_PROTOCOL).toUpperCase(Locale.ROOT))
                == SecurityProtocol.SSL;
    }

    public String protocol() {
        return values.getString(TLS_PROTOCOL);
    }

    public boolean hostVerified() {
        return !values.getString(ENDPOINT_IDENTIFICATION).isBlank();
    }

    public Password keyPassword() {
        return values.getPassword(TLS_KEY_PASSWORD);
    }

    /** The worker's own key and certificate, if they are given. */
    public Store keystore() {
        return store(TLS_KEYSTORE, CHAIN, KEY);
    }

    /** Whom to trust; whom the JVM trusts if nobody is given. */
    public Store truststore() {
        return store(TLS_TRUSTSTORE, CERTIFICATES);
    }

    private Store store(String keys, String... inPlace) {
        String location = values.getString(keys + LOCATION);
        String pem = Arrays.stream(inPlace)
                .map(key -> values.getPassword(keys + key))
                .filter(Objects::nonNull)
                .map(Password::value)
                .collect(Collectors.joining("\n"));
        return new Store(
                keys + (location == null ? inPlace[0] : LOCATION),
                location,
                pem.isEmpty() ? null : pem,
                values.getString(keys + STORE_TYPE),
                values.getPassword(keys + STORE_PASSWORD));
    }

    /**
     * Certificates, and a key where there is one, in a file or as text.
     *
     * @param key the setting that gives them
     * @param location path, {@code null} for none
     * @param pem text instead of a file, {@code null} for none
     * @param password may be {@code null} too
     */
    public record Store(String key, String location, String pem, String type, Password password) {
        public boolean isGiven() {
            return location != null || pem != null;
        }

        public boolean isPem() {
            return type.equalsIgnoreCase(PEM);
        }
    }
}
