package io.sluice.connect.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.config.ConnectionSettings;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.hc.core5.http.Header;
import org.apache.hc.core5.http.HttpHeaders;
import org.apache.hc.core5.http.HttpRequest;

/** Who asks: the headers that each request to the cluster carries. */
final class Credentials {
    private final List<Header> always = new ArrayList<>();
    private final TokenFile tokenFile;

    Credentials(ConnectionSettings connection) {
        connection.headers().forEach((name, value) -> always.add(new SecretHeader(name, value)));
        if (connection.apiKey() != null) {
            always.add(authorization("ApiKey " + connection.apiKey().value()));
        }
        if (connection.username() != null) {
            always.add(authorization(
                    basic(connection.username(), connection.password().value())));
        }
        if (connection.bearerToken() != null) {
            always.add(bearer(connection.bearerToken().value()));
        }
        tokenFile = connection.bearerTokenFile() == null ? null : new TokenFile(connection.bearerTokenFile());
    }

    static String basic(String username, String password) {
        return "Basic " + Base64.getEncoder().encodeToString((username + ":" + password).getBytes(UTF_8));
    }

    private static Header bearer(String token) {
        return authorization("Bearer " + token);
    }

    private static Header authorization(String value) {
        return new SecretHeader(HttpHeaders.AUTHORIZATION, value);
    }

    void addTo(HttpRequest request) {
        always.forEach(request::addHeader);
        if (tokenFile != null) {
            request.addHeader(bearer(tokenFile.token()));
        }
    }
}
