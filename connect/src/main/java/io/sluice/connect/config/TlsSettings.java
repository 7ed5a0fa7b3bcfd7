package io.sluice.connect.config;

import static org.apache.kafka.common.config.ConfigDef.Importance.MEDIUM;

import java.util.List;
import java.util.Locale;
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
                .means("Password of the private key. Blank: that of the key store.");
        defineStore(
                settings,
                TLS_KEYSTORE,
                "Key store",
                "Path of the store with the client's key and certificate. Blank: none.");
        defineStore(
                settings,
                TLS_TRUSTSTORE,
                "Trust store",
                "Path of the store with the authorities to trust. Blank: those of the JVM.");
    }

    private static void defineStore(SettingsGroup settings, String keys, String name, String location) {
        settings.text(keys + LOCATION, name).byDefault(null).means(location);
        settings.secret(keys + STORE_PASSWORD, name + " password").means("Password of the store.");
        settings.text(keys + STORE_TYPE, name + " type")
                .byDefault("JKS")
                .means("Type of the store, such as JKS or PKCS12.");
    }

    static void check(Findings findings) {
        boolean isPlain = findings.valueOf(ConnectionSettings.CONNECTION_URL) instanceof List<?> urls
                && urls.stream().anyMatch(url -> url.toString().regionMatches(true, 0, "http:", 0, "http:".length()));
        if (isPlain && findings.isText(SECURITY_PROTOCOL, "ssl")) {
            findings.refuse(
                    ConnectionSettings.CONNECTION_URL,
                    "got http URLs, expected https with " + SECURITY_PROTOCOL + "=SSL");
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

    /** The worker's own key and certificate; without a location there is none. */
    public Store keystore() {
        return store(TLS_KEYSTORE);
    }

    /** Whom to trust; without a location whom the JVM trusts. */
    public Store truststore() {
        return store(TLS_TRUSTSTORE);
    }

    private Store store(String keys) {
        return new Store(
                keys + LOCATION,
                values.getString(keys + LOCATION),
                values.getString(keys + STORE_TYPE),
                values.getPassword(keys + STORE_PASSWORD));
    }

    /**
     * @param key the setting that gives the location
     * @param location path, {@code null} for no store; the password may be {@code null} too
     */
    public record Store(String key, String location, String type, Password password) {}
}
