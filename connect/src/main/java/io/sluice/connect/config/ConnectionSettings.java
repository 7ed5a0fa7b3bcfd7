package io.sluice.connect.config;

import static org.apache.kafka.common.config.ConfigDef.Importance.HIGH;
import static org.apache.kafka.common.config.ConfigDef.Importance.MEDIUM;
import static org.apache.kafka.common.config.ConfigDef.NO_DEFAULT_VALUE;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.types.Password;

/** Which cluster, as whom, and how long to wait for it. */
public final class ConnectionSettings {
    public static final String VALIDATE_CONNECTION = "validate.connection";
    public static final String CONNECTION_URL = "connection.url";
    private static final String CONNECTION_USERNAME = "connection.username";
    private static final String CONNECTION_PASSWORD = "connection.password";
    private static final String CONNECTION_API_KEY = "connection.api.key";
    private static final String CONNECTION_HEADERS = "connection.headers";
    private static final String CONNECTION_TIMEOUT_MS = "connection.timeout.ms";
    private static final String READ_TIMEOUT_MS = "read.timeout.ms";
    private static final String CONNECTION_COMPRESSION = "connection.compression";

    private final AbstractConfig values;

    ConnectionSettings(AbstractConfig values) {
        this.values = values;
    }

    static void define(ConfigDef definition) {
        SettingsGroup settings = new SettingsGroup(definition, "Connection");
        settings.list(CONNECTION_URL, "URLs")
                .byDefault(NO_DEFAULT_VALUE)
                .accepts(Accepts.urls())
                .importance(HIGH)
                .means("URLs of the cluster, http or https, separated by commas. Requests go to each in turn; one that "
                        + "fails is left out for 1 s to 60 s. A path goes before that of each request; a query, "
                        + "credentials or another scheme is refused. Redirects are not followed.");
        settings.text(CONNECTION_USERNAME, "User name")
                .byDefault(null)
                .importance(MEDIUM)
                .means("User name for basic authentication. Needs connection.password; refused with "
                        + "connection.api.key.");
        settings.secret(CONNECTION_PASSWORD, "Password")
                .importance(MEDIUM)
                .means("Password for basic authentication. Needs connection.username.");
        settings.secret(CONNECTION_API_KEY, "API key")
                .importance(MEDIUM)
                .means("API key (base64 of id:key), instead of a user name and password.");
        settings.secret(CONNECTION_HEADERS, "Headers")
                .accepts(Accepts.headers())
                .means("Headers of each request as Name:value, separated by commas; hidden like a password.");
        settings.number(CONNECTION_TIMEOUT_MS, "Connection timeout (ms)", 1_000)
                .accepts(Accepts.atLeast(1))
                .means("Longest time to open a connection, in milliseconds.");
        settings.number(READ_TIMEOUT_MS, "Read timeout (ms)", 30_000)
                .accepts(Accepts.atLeast(1))
                .means("Longest time without a byte of the answer, in milliseconds. The request is then sent "
                        + "again.");
        settings.flag(CONNECTION_COMPRESSION, "Compress requests")
                .means("Compress request bodies with gzip, which costs CPU in the worker.");
        settings.flag(VALIDATE_CONNECTION, "Check the cluster")
                .byDefault(true)
                .means("Check version, credentials, privileges and targets in the cluster before a connector is "
                        + "created or changed, for 5 s at most. Use false while the cluster is down.");
    }

    static void check(Findings findings) {
        findings.requireBoth(CONNECTION_USERNAME, CONNECTION_PASSWORD);
        if (findings.isGiven(CONNECTION_USERNAME) && findings.isGiven(CONNECTION_API_KEY)) {
            findings.refuse(CONNECTION_API_KEY, "got a key, expected none with " + CONNECTION_USERNAME);
        }
    }

    /** The nodes. */
    public List<NodeUrl> nodes() {
        return values.getList(CONNECTION_URL).stream()
                .map(url -> NodeUrl.parse(CONNECTION_URL, url))
                .collect(Collectors.toList());
    }

    /** The nodes in a message. */
    public String hostNames() {
        return nodes().stream().map(NodeUrl::toString).collect(Collectors.joining(" or "));
    }

    public String username() {
        return values.getString(CONNECTION_USERNAME);
    }

    public Password password() {
        return values.getPassword(CONNECTION_PASSWORD);
    }

    public Password apiKey() {
        return values.getPassword(CONNECTION_API_KEY);
    }

    /** Name and value of each header, in turn. */
    public Map<String, String> headers() {
        Map<String, String> headers = new LinkedHashMap<>();
        Password given = values.getPassword(CONNECTION_HEADERS);
        if (given != null) {
            for (String header : given.value().split(",")) {
                int colon = header.indexOf(':');
                headers.put(
                        header.substring(0, colon).trim(),
                        header.substring(colon + 1).trim());
            }
        }
        return headers;
    }

    public boolean hasCredentials() {
        return apiKey() != null || username() != null || values.getPassword(CONNECTION_HEADERS) != null;
    }

    /** The setting to change when the cluster does not accept who asks. */
    public String credentialKey() {
        if (apiKey() != null) {
            return CONNECTION_API_KEY;
        }
        if (username() != null) {
            return CONNECTION_PASSWORD;
        }
        return values.getPassword(CONNECTION_HEADERS) != null ? CONNECTION_HEADERS : CONNECTION_USERNAME;
    }

    /** Whether the cluster is asked before a connector is made or changed. */
    public boolean validated() {
        return values.getBoolean(VALIDATE_CONNECTION);
    }

    public int connectionTimeoutMs() {
        return values.getInt(CONNECTION_TIMEOUT_MS);
    }

    public int readTimeoutMs() {
        return values.getInt(READ_TIMEOUT_MS);
    }

    public boolean compressed() {
        return values.getBoolean(CONNECTION_COMPRESSION);
    }
}
