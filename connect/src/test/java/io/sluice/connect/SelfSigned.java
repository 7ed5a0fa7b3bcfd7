package io.sluice.connect;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.stream.Stream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** A certificate for this machine that nobody trusts, as keytool makes it, and servers that show it. */
final class SelfSigned {
    private static final String PASSWORD = "changeit";

    private final Path store;

    SelfSigned(Path folder) throws Exception {
        store = folder.resolve("store.p12");
        String keytool =
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
        String arguments = " -genkeypair -keyalg RSA -alias es -dname CN=localhost -ext san=ip:127.0.0.1"
                + " -storetype PKCS12 -storepass " + PASSWORD + " -keystore ";
        Process making = new ProcessBuilder((keytool + arguments + store).split(" "))
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("keytool.log").toFile())
                .start();
        if (making.waitFor() != 0) {
            throw new AssertionError("keytool failed, see " + folder.resolve("keytool.log"));
        }
    }

    /** These settings and those with which the certificate is trusted: key, value, key, value. */
    String[] trusted(String... settings) {
        Stream<String> trusting = Stream.of(
                "elastic.security.protocol",
                "SSL",
                "elastic.https.ssl.truststore.location",
                store.toString(),
                "elastic.https.ssl.truststore.password",
                PASSWORD,
                "elastic.https.ssl.truststore.type",
                "PKCS12");
        return Stream.concat(Stream.of(settings), trusting).toArray(String[]::new);
    }

    /** What a server needs to show the certificate. */
    SSLContext context() throws Exception {
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray()), PASSWORD.toCharArray());
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(factory.getKeyManagers(), null, null);
        return context;
    }

    /** A server on a free port of this environment, not started. */
    HttpsServer server() throws Exception {
        HttpsServer server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(context()));
        return server;
    }
}
