package io.sluice.connect;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;

/** An authority with one below it, as cert-manager's and ECK's are, and the certificates of a server and of two clients. */
final class Authority {
    private static final String PASSWORD = "changeit";

    private final KeyStore store;

    Authority(Path folder) throws Exception {
        Path file = folder.resolve("authority.p12");
        make(folder, file, "-alias root -keyalg RSA -dname CN=root -ext bc:c");
        make(folder, file, "-alias issuer -keyalg EC -dname CN=issuer -ext bc:c -signer root");
        make(folder, file, "-alias server -keyalg RSA -dname CN=es -ext san=ip:127.0.0.1 -signer issuer");
        make(folder, file, "-alias rsa -keyalg RSA -dname CN=rsa -signer issuer");
        make(folder, file, "-alias ec -keyalg EC -groupname secp384r1 -dname CN=ec -signer issuer");
        store = KeyStore.getInstance(file.toFile(), PASSWORD.toCharArray());
    }

    private static void make(Path folder, Path file, String arguments) throws Exception {
        String keytool =
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
        String whole = " -genkeypair -storetype PKCS12 -storepass " + PASSWORD + " -keystore " + file + " " + arguments;
        Process making = new ProcessBuilder((keytool + whole).split(" "))
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("keytool.log").toFile())
                .start();
        if (making.waitFor() != 0) {
            throw new AssertionError("keytool failed, see " + folder.resolve("keytool.log"));
        }
    }

    Key key(String alias) throws GeneralSecurityException {
        return store.getKey(alias, PASSWORD.toCharArray());
    }

    /** The certificate and those above it. */
    String chain(String alias) throws GeneralSecurityException {
        StringBuilder chain = new StringBuilder();
        for (Certificate certificate : store.getCertificateChain(alias)) {
            chain.append(pem("CERTIFICATE", certificate.getEncoded()));
        }
        return chain.toString();
    }

    static String pem(String label, byte[] bytes) {
        return "-----BEGIN " + label + "-----\n"
                + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes) + "\n-----END " + label
                + "-----\n";
    }

    /** A server that takes only clients with a certificate of this authority, on a free port, not started. */
    HttpsServer server(boolean wantsCertificates) throws Exception {
        KeyStore own = KeyStore.getInstance("PKCS12");
        own.load(null, null);
        own.setKeyEntry("server", key("server"), PASSWORD.toCharArray(), store.getCertificateChain("server"));
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(own, PASSWORD.toCharArray());
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("root", store.getCertificate("root"));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        HttpsServer server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(context) {
            @Override
            public void configure(HttpsParameters parameters) {
                SSLParameters wanted = context.getDefaultSSLParameters();
                wanted.setNeedClientAuth(wantsCertificates);
                parameters.setSSLParameters(wanted);
            }
        });
        return server;
    }
}
