package io.sluice.connect.config;

import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
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
        SettingsGroup settings = new SettingsGroup(definition, "Proxy");
        settings.text(PROXY_HOST, "Proxy host")
                .accepts(Accepts.hostName())
                .means("Name or address of an HTTP proxy, without scheme and port. Blank: no proxy.");
        settings.number(PROXY_PORT, "Proxy port", 8_080)
                .accepts(Accepts.between(1, 65_535))
                .means("Port of the HTTP proxy.");
        settings.text(PROXY_USERNAME, "Proxy user name")
                .means("User name for the proxy, which gets it with its password at once (basic authentication). Needs "
                        + "proxy.host and proxy.password.");
        settings.secret(PROXY_PASSWORD, "Proxy password")
                .means("Password for the proxy. Needs proxy.host and proxy.username.");
    }

    static void check(Findings findings) {
        findings.requireBoth(PROXY_USERNAME, PROXY_PASSWORD);
        findings.requireEffect(PROXY_PORT, findings.isGiven(PROXY_HOST), PROXY_HOST);
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
