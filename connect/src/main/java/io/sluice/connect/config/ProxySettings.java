package io.sluice.connect.config;

import static org.apache.kafka.common.config.ConfigDef.Importance.LOW;

import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.types.Password;

/** The HTTP proxy between the worker and the cluster, if there is one. */
public final class ProxySettings {
    private static final String PROXY_HOST = "proxy.host";
    private static final String PROXY_PORT = "proxy.port";
    private static final String PROXY_USERNAME = "proxy.username";
    private static final String PROXY_PASSWORD = "proxy.password";

    private final AbstractConfig values;

    ProxySettings(AbstractConfig values) {
        this.values = values;
    }

    static void define(ConfigDef definition) {
        definition
                .define(
                        PROXY_HOST,
                        Type.STRING,
                        "",
                        Accepts.hostName(),
                        LOW,
                        "Name or address of an HTTP proxy, without scheme and port. Blank: no proxy.")
                .define(PROXY_PORT, Type.INT, 8_080, Accepts.between(1, 65_535), LOW, "Port of the HTTP proxy.")
                .define(
                        PROXY_USERNAME,
                        Type.STRING,
                        "",
                        LOW,
                        "User name for the proxy, which gets it with its password at once (basic authentication). Needs "
                                + "proxy.host and proxy.password.")
                .define(
                        PROXY_PASSWORD,
                        Type.PASSWORD,
                        null,
                        LOW,
                        "Password for the proxy. Needs proxy.host and proxy.username.");
    }

    static void check(Findings findings) {
        findings.requireBoth(PROXY_USERNAME, PROXY_PASSWORD);
        boolean hasCredentials = findings.isGiven(PROXY_USERNAME) || findings.isGiven(PROXY_PASSWORD);
        if (hasCredentials && !findings.isGiven(PROXY_HOST)) {
            findings.refuse(PROXY_HOST, "got nothing, expected a host with credentials for it");
        }
    }

    /** The proxy's host, empty for none. */
    public String host() {
        return values.getString(PROXY_HOST);
    }

    public int port() {
        return values.getInt(PROXY_PORT);
    }

    public String username() {
        return values.getString(PROXY_USERNAME);
    }

    /** The setting to change when the proxy does not accept who asks. */
    public String credentialKey() {
        return username().isEmpty() ? PROXY_USERNAME : PROXY_PASSWORD;
    }

    public Password password() {
        return values.getPassword(PROXY_PASSWORD);
    }
}
