package io.sluice.connect.config;

import static org.apache.kafka.common.config.ConfigDef.Importance.HIGH;
import static org.apache.kafka.common.config.ConfigDef.Importance.MEDIUM;
import static org.apache.kafka.common.config.ConfigDef.NO_DEFAULT_VALUE;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
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
    private static final String CONNECTION_BEARER_TOKEN = "connection.bearer.token";
    public static final String CONNECTION_BEARER_TOKEN_FILE = "connection.bearer.token.file";
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
                .means("User name for basic authentication. Needs connection.password. Of user name, API key, bearer "
                        + "token and its file only one may be given.");
        settings.secret(CONNECTION_PASSWORD, "Password")
                .importance(MEDIUM)
                .means("Password for basic authentication. Needs connection.username.");
        settings.secret(CONNECTION_API_KEY, "API key")
                .importance(MEDIUM)
                .means("API key (base64 of id:key), instead of the others.");
        settings.secret(CONNECTION_BEARER_TOKEN, "Bearer token")
                .accepts(Accepts.token())
                .importance(MEDIUM)
                .means("Bearer token, such as a service account's or a JWT, instead of the others.");
        settings.text(CONNECTION_BEARER_TOKEN_FILE, "Bearer token file")
                .byDefault(null)
                .accepts(Accepts.tokenFile())
                .means("File with a bearer token, read anew for each request, so that the token may be replaced at any "
                        + "time. The worker must allow the file: -D" + Accepts.TOKEN_FILES + "=PATH,PATH.");
        settings.secret(CONNECTION_HEADERS, "Headers")
                .accepts(Accepts.headers())
                .means("Headers of each request as Name:value, separated by commas; hidden like a password.");
        settings.number(CONNECTION_TIMEOUT_MS, "Connection timeout (ms)", 5_000)
                .accepts(Accepts.atLeast(1))
                .means(
                        "Longest time to open a connection, in milliseconds. A lost first packet is sent again after 1 s and 3 s.");
        settings.number(READ_TIMEOUT_MS, "Read timeout (ms)", 30_000)
                .accepts(Accepts.atLeast(1))
                .means("Longest time without a byte of the answer, in milliseconds. The request is then sent "
                        + "again.");
        settings.flag(CONNECTION_COMPRESSION, "Compress requests")
                .means("Compress request bodies with gzip, which costs CPU in the worker.");
        settings.flag(VALIDATE_CONNECTION, "Check the cluster")
                .byDefault(true)
                .means("Check version, credentials, privileges and targets in the cluster before a connector is "
                        + "created or changed, for 30 s at most. Use false while the cluster is down.");
    }

    static void check(Findings findings) {
        findings.requireBoth(CONNECTION_USERNAME, CONNECTION_PASSWORD);
        List<String> given = Stream.of(
                        CONNECTION_USERNAME, CONNECTION_API_KEY, CONNECTION_BEARER_TOKEN, CONNECTION_BEARER_TOKEN_FILE)
                .filter(findings::isGiven)
                .collect(Collectors.toList());
        if (!given.isEmpty() && hasAuthorization(findings)) {
            findings.refuse(CONNECTION_HEADERS, "got Authorization, expected other headers with " + given.get(0));
        }
        given.stream()
                .skip(1)
                .forEach(key -> findings.refuse(
                        key,
                        "got a " + key.substring(key.lastIndexOf('.') + 1) + ", expected none with " + given.get(0)));
    }

    private static boolean hasAuthorization(Findings findings) {
        return findings.valueOf(CONNECTION_HEADERS) instanceof Password headers
                && headersIn(headers).keySet().stream().anyMatch("Authorization"::equalsIgnoreCase);
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

    public Password bearerToken() {
        return values.getPassword(CONNECTION_BEARER_TOKEN);
    }

    /** Whether a text is a bearer token, with nothing before and behind it. */
    public static boolean isToken(String text) {
        return Accepts.isToken(text);
    }

    public String bearerTokenFile() {
        return values.getString(CONNECTION_BEARER_TOKEN_FILE);
    }

    /** Name and value of each header, in turn. */
    public Map<String, String> headers() {
        Password given = values.getPassword(CONNECTION_HEADERS);
        return given == null ? Map.of() : headersIn(given);
    }

    private static Map<String, String> headersIn(Password given) {
        Map<String, String> headers = new LinkedHashMap<>();
        for (String header : given.value().split(",")) {
            int colon = header.indexOf(':');
            headers.put(
                    header.substring(0, colon).trim(),
                    header.substring(colon + 1).trim());
        }
        return headers;
    }

    public boolean hasCredentials() {
        return !credentialKey().equals(CONNECTION_USERNAME);
    }

    /** The setting to change when the cluster does not accept who asks. */
    public String credentialKey() {
        return Stream.of(
                        CONNECTION_API_KEY,
                        CONNECTION_PASSWORD,
                        CONNECTION_BEARER_TOKEN,
                        CONNECTION_BEARER_TOKEN_FILE,
                        CONNECTION_HEADERS)
                .filter(key -> values.values().get(key) != null)
                .findFirst()
                .orElse(CONNECTION_USERNAME);
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
