package io.sluice.connect.config;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.http.HttpHost;

/** One URL of a node: scheme, host, and the port if it is not the scheme's. */
final class NodeUrl {
    private static final Set<String> SCHEMES = Set.of("http", "https");
    private static final int HIGHEST_PORT = 65_535;

    /** {@link URI} takes a name with an underscore for no host's; container networks have such names. */
    private static final Pattern HOST_AND_PORT = Pattern.compile("([\\w.-]+)(?::(\\d{0,5}))?");

    private NodeUrl() {}

    /** Host and port; what is refused is not repeated where a secret may stand in it. */
    static HttpHost parse(String key, String text) {
        if (text.indexOf('@') >= 0) {
            throw Accepts.refusal(
                    key, "a URL with credentials in it", "them in connection.username and connection.password");
        }
        URI url = uri(key, text);
        String scheme = String.valueOf(url.getScheme()).toLowerCase(Locale.ROOT);
        if (!SCHEMES.contains(scheme) || url.getRawAuthority() == null) {
            throw Accepts.refusal(key, text.isEmpty() ? "nothing" : text, "URLs such as http://localhost:9200");
        }
        boolean hasMore = url.getRawQuery() != null || url.getRawFragment() != null;
        if (hasMore || !url.getRawPath().isEmpty() && !url.getRawPath().equals("/")) {
            throw Accepts.refusal(
                    key,
                    "a URL with a path, a query or a fragment",
                    "scheme, host and port alone, such as http://localhost:9200");
        }
        return url.getHost() == null
                ? named(key, scheme, url.getRawAuthority())
                : host(key, scheme, url.getHost(), url.getPort());
    }

    private static URI uri(String key, String text) {
        try {
            return new URI(text);
        } catch (URISyntaxException malformed) {
            throw Accepts.refusal(key, "a malformed URL", "URLs such as http://localhost:9200");
        }
    }

    private static HttpHost named(String key, String scheme, String authority) {
        Matcher parts = HOST_AND_PORT.matcher(authority);
        if (!parts.matches()) {
            throw Accepts.refusal(key, "a malformed URL", "URLs such as http://localhost:9200");
        }
        String port = parts.group(2);
        return host(key, scheme, parts.group(1), port == null || port.isEmpty() ? -1 : Integer.parseInt(port));
    }

    /** @param port -1 for the scheme's */
    private static HttpHost host(String key, String scheme, String name, int port) {
        if (port == 0 || port > HIGHEST_PORT) {
            throw Accepts.refusal(key, "port " + port, "1 to " + HIGHEST_PORT);
        }
        return new HttpHost(name, port, scheme);
    }
}
