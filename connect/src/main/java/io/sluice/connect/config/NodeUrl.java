package io.sluice.connect.config;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The URL of one node, or of a proxy or gateway before it.
 *
 * @param host a name or an address, one of IPv6 in brackets
 * @param port -1 for the scheme's
 * @param path what stands before the path of each request: empty, or with a slash at its beginning and none at its end
 */
public record NodeUrl(String scheme, String host, int port, String path) {
    private static final Set<String> SCHEMES = Set.of("http", "https");
    private static final int HIGHEST_PORT = 65_535;

    /** {@link URI} takes a name with an underscore for no host's; container networks have such names. */
    private static final Pattern HOST_AND_PORT = Pattern.compile("([\\w.-]+)(?::(\\d{0,5}))?");

    /** Reads a URL; what is refused is not repeated where a secret may stand in it. */
    static NodeUrl parse(String key, String text) {
        if (text.indexOf('@') >= 0) {
            throw Accepts.refusal(
                    key, "a URL with credentials in it", "them in connection.username and connection.password");
        }
        URI url = uri(key, text);
        String scheme = String.valueOf(url.getScheme()).toLowerCase(Locale.ROOT);
        if (!SCHEMES.contains(scheme) || url.getRawAuthority() == null) {
            throw Accepts.refusal(key, text.isEmpty() ? "nothing" : text, "URLs such as http://localhost:9200");
        }
        if (url.getRawQuery() != null || url.getRawFragment() != null) {
            throw Accepts.refusal(
                    key,
                    "a URL with a query or a fragment",
                    "scheme, host, port and path alone, such as http://localhost:9200");
        }
        String path = url.getRawPath().replaceAll("/+$", "");
        return url.getHost() == null
                ? named(key, scheme, url.getRawAuthority(), path)
                : checked(key, new NodeUrl(scheme, url.getHost(), url.getPort(), path));
    }

    private static URI uri(String key, String text) {
        try {
            return new URI(text);
        } catch (URISyntaxException malformed) {
            throw Accepts.refusal(key, "a malformed URL", "URLs such as http://localhost:9200");
        }
    }

    private static NodeUrl named(String key, String scheme, String authority, String path) {
        Matcher parts = HOST_AND_PORT.matcher(authority);
        if (!parts.matches()) {
            throw Accepts.refusal(key, "a malformed URL", "URLs such as http://localhost:9200");
        }
        String port = parts.group(2);
        int number = port == null || port.isEmpty() ? -1 : Integer.parseInt(port);
        return checked(key, new NodeUrl(scheme, parts.group(1), number, path));
    }

    private static NodeUrl checked(String key, NodeUrl url) {
        if (url.port == 0 || url.port > HIGHEST_PORT) {
            throw Accepts.refusal(key, "port " + url.port, "1 to " + HIGHEST_PORT);
        }
        return url;
    }

    /** Without the scheme: {@code host:port/path}, as far as they are given. */
    @Override
    public String toString() {
        return host + (port < 0 ? "" : ":" + port) + path;
    }
}
