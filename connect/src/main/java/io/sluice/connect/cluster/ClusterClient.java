package io.sluice.connect.cluster;

import io.sluice.connect.config.ConnectionSettings;
import io.sluice.connect.config.ProxySettings;
import io.sluice.connect.config.SinkConfig;
import java.util.ArrayList;
import java.util.List;
import org.apache.http.Header;
import org.apache.http.HttpHeaders;
import org.apache.http.HttpHost;
import org.apache.http.auth.AuthScope;
import org.apache.http.auth.UsernamePasswordCredentials;
import org.apache.http.client.CredentialsProvider;
import org.apache.http.conn.ssl.NoopHostnameVerifier;
import org.apache.http.impl.client.BasicCredentialsProvider;
import org.apache.http.impl.nio.client.HttpAsyncClientBuilder;
import org.apache.http.impl.nio.reactor.IOReactorConfig;
import org.apache.http.message.BasicHeader;
import org.elasticsearch.client.RestClient;

/** Opens Elastic's low-level client: several nodes, dead ones left aside, basic or API key access, TLS, a proxy. */
public final class ClusterClient {
    private ClusterClient() {}

    /** A client with as many connections to each node as requests may be under way. */
    public static RestClient open(SinkConfig config) {
        ConnectionSettings connection = config.connection();
        return open(
                config,
                connection.connectionTimeoutMs(),
                connection.readTimeoutMs(),
                config.requests().maxInFlightRequests());
    }

    static RestClient open(SinkConfig config, int connectTimeoutMs, int readTimeoutMs, int connectionsPerNode) {
        return RestClient.builder(config.connection().hosts().toArray(new HttpHost[0]))
                .setRequestConfigCallback(request -> request.setConnectTimeout(connectTimeoutMs)
                        // Another host must not get our credentials, which stand in every request.
                        .setRedirectsEnabled(false)
                        .setSocketTimeout(readTimeoutMs)
                        .setConnectionRequestTimeout(0))
                .setHttpClientConfigCallback(http -> configured(http, config, connectionsPerNode))
                .setDefaultHeaders(headers(config.connection()))
                .build();
    }

    private static Header[] headers(ConnectionSettings connection) {
        List<Header> headers = new ArrayList<>();
        connection.headers().forEach((name, value) -> headers.add(new BasicHeader(name, value)));
        if (connection.apiKey() != null) {
            String value = "ApiKey " + connection.apiKey().value();
            headers.add(new BasicHeader(HttpHeaders.AUTHORIZATION, value));
        }
        return headers.toArray(new Header[0]);
    }

    private static HttpAsyncClientBuilder configured(
            HttpAsyncClientBuilder http, SinkConfig config, int connectionsPerNode) {
        http.setMaxConnPerRoute(connectionsPerNode);
        http.setMaxConnTotal(connectionsPerNode * config.connection().hosts().size());
        http.setDefaultIOReactorConfig(IOReactorConfig.custom()
                .setIoThreadCount(1)
                .setSoKeepAlive(true)
                .build());
        if (config.tls().isConfigured()) {
            http.setSSLContext(Tls.context(config.tls()));
            if (!config.tls().hostVerified()) {
                http.setSSLHostnameVerifier(NoopHostnameVerifier.INSTANCE);
            }
        }
        ProxySettings proxy = config.proxy();
        if (!proxy.host().isEmpty()) {
            http.setProxy(new HttpHost(proxy.host(), proxy.port()));
        }
        return http.setDefaultCredentialsProvider(credentials(config.connection(), proxy));
    }

    /** Each for its own hosts: the proxy must not learn Elasticsearch's. */
    private static CredentialsProvider credentials(ConnectionSettings connection, ProxySettings proxy) {
        CredentialsProvider credentials = new BasicCredentialsProvider();
        if (connection.username() != null) {
            for (HttpHost host : connection.hosts()) {
                credentials.setCredentials(
                        new AuthScope(host),
                        new UsernamePasswordCredentials(
                                connection.username(), connection.password().value()));
            }
        }
        if (!proxy.username().isEmpty()) {
            credentials.setCredentials(
                    new AuthScope(proxy.host(), proxy.port()),
                    new UsernamePasswordCredentials(
                            proxy.username(), proxy.password().value()));
        }
        return credentials;
    }
}
