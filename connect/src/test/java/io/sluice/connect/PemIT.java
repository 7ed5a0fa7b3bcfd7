package io.sluice.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.AlgorithmParameters;
import java.security.Key;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import javax.crypto.Cipher;
import javax.crypto.EncryptedPrivateKeyInfo;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import org.apache.kafka.common.config.ConfigValue;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Certificates and keys in PEM, over real TLS. */
class PemIT extends MisbehavingServer {
    private static final String TRUST = "elastic.https.ssl.truststore.";
    private static final String SHOWN = "elastic.https.ssl.keystore.";
    private static final String KEY_PASSWORD = "elastic.https.ssl.key.password";

    /** The encoding of an RSA key of 2,048 or 3,072 bits in PKCS#8 is a head of so many bytes and PKCS#1. */
    private static final int PKCS8_HEAD_BYTES = 26;

    @TempDir
    static Path folder;

    private static Authority authority;

    @BeforeAll
    static void make() throws Exception {
        authority = new Authority(folder);
    }

    private static String file(String name, String content) throws Exception {
        return Files.writeString(folder.resolve(name), content).toString();
    }

    private static Map<String, String> secured(String... settings) {
        return TaskHarness.settings(
                Map.of("elastic.security.protocol", "SSL", "flush.timeout.ms", "0", "retry.timeout.ms", "0"), settings);
    }

    private static List<String> refusals(String url, String... settings) {
        Map<String, String> given = TaskHarness.settings(
                Map.of("connection.url", url, "topics", "books", "elastic.security.protocol", "SSL"), settings);
        return new ElasticsearchSinkConnector()
                .validate(given).configValues().stream()
                        .map(ConfigValue::errorMessages)
                        .flatMap(List::stream)
                        .sorted()
                        .collect(Collectors.toList());
    }

    private void assertWrites(boolean wantsCertificates, Map<String, String> settings) throws Exception {
        accepted.clear();
        try (LocalServer secure = LocalServer.secure(authority.server(wantsCertificates), this::handle);
                TaskHarness harness = new TaskHarness(secure.url(), settings)) {
            harness.put(records(harness, 5));
            assertAllAccepted(harness, 5);
        }
    }

    /** A bundle as it comes: comments between its blocks, Windows' line ends, and others' authorities before ours. */
    @Test
    void aBundleOfAuthoritiesIsTrusted() throws Exception {
        String bundle =
                "# another's\nsubject=CN = rsa\n" + authority.chain("rsa").split("(?<=END CERTIFICATE-----)")[0]
                        + "\nsubject=CN = root\nissuer=CN = root\n\n" + authority.chain("root") + "\n# the end";
        for (String text : new String[] {bundle, bundle.replace("\n", "\r\n"), bundle.stripTrailing()}) {
            assertWrites(false, secured(TRUST + "type", "pem", TRUST + "location", file("ca.crt", text)));
            assertWrites(false, secured(TRUST + "type", "PEM", TRUST + "certificates", text));
        }
    }

    /** A certificate that its trust store does not lead to is not trusted. */
    @Test
    void anotherAuthorityIsNotTrusted(@TempDir Path elsewhere) throws Exception {
        String other = file("other.crt", new Authority(elsewhere).chain("root"));
        try (LocalServer secure = LocalServer.secure(authority.server(false), this::handle)) {
            String refusal = refusals(secure.url(), TRUST + "type", "PEM", TRUST + "location", other)
                    .get(0);
            assertTrue(refusal.startsWith("connection.url: got no answer from " + secure.host()), refusal);
        }
        assertEquals(0, accepted.size());
    }

    /** A client shows its certificate, whatever form its key is in: as cert-manager, OpenSSL and Java write it. */
    @Test
    void aClientShowsItsCertificate() throws Exception {
        Map<String, String> forms = new LinkedHashMap<>();
        Key rsa = authority.key("rsa");
        Key ec = authority.key("ec");
        byte[] pkcs1 = Arrays.copyOfRange(rsa.getEncoded(), PKCS8_HEAD_BYTES, rsa.getEncoded().length);
        forms.put("rsa", Authority.pem("PRIVATE KEY", rsa.getEncoded()));
        forms.put("rsa ", Authority.pem("RSA PRIVATE KEY", pkcs1));
        forms.put("rsa  ", Authority.pem("ENCRYPTED PRIVATE KEY", encrypted(rsa)));
        forms.put("ec", Authority.pem("PRIVATE KEY", ec.getEncoded()));
        String root = file("root.crt", authority.chain("root"));
        for (Map.Entry<String, String> form : forms.entrySet()) {
            String chain = authority.chain(form.getKey().trim());
            String[] trust = {
                TRUST + "type", "PEM", TRUST + "location", root, SHOWN + "type", "PEM", KEY_PASSWORD, "s3cret"
            };
            String[] both = {SHOWN + "location", file("tls.pem", form.getValue() + chain)};
            String[] inPlace = {SHOWN + "key", form.getValue(), SHOWN + "certificate.chain", chain};
            assertWrites(true, TaskHarness.settings(secured(trust), both));
            assertWrites(true, TaskHarness.settings(secured(trust), inPlace));
        }
    }

    private static byte[] encrypted(Key key) throws Exception {
        String algorithm = "PBEWithSHA1AndDESede";
        Cipher cipher = Cipher.getInstance(algorithm);
        cipher.init(
                Cipher.ENCRYPT_MODE,
                SecretKeyFactory.getInstance(algorithm).generateSecret(new PBEKeySpec("s3cret".toCharArray())));
        AlgorithmParameters parameters = cipher.getParameters();
        return new EncryptedPrivateKeyInfo(parameters, cipher.doFinal(key.getEncoded())).getEncoded();
    }

    /** Without a certificate such a server lets nobody in. */
    @Test
    void aServerThatWantsCertificatesRefusesOthers() throws Exception {
        String root = file("root.crt", authority.chain("root"));
        try (LocalServer secure = LocalServer.secure(authority.server(true), this::handle)) {
            assertEquals(
                    1,
                    refusals(secure.url(), TRUST + "type", "PEM", TRUST + "location", root)
                            .size());
        }
    }

    /** What is no PEM, or not all of it, is refused in one sentence at the setting that names it; no secret is in it. */
    @Test
    void whatIsWrongWithAFileIsSaidAtItsKey() throws Exception {
        String chain = authority.chain("rsa");
        String key = Authority.pem("PRIVATE KEY", authority.key("rsa").getEncoded());
        String locked = Authority.pem("ENCRYPTED PRIVATE KEY", encrypted(authority.key("rsa")));
        String anothers = Authority.pem("PRIVATE KEY", authority.key("ec").getEncoded());
        String[][] wrong = {
            {TRUST, "", "no block BEGIN CERTIFICATE"},
            {TRUST, key, "no block BEGIN CERTIFICATE"},
            {TRUST, Authority.pem("CERTIFICATE", new byte[] {1, 2, 3}), "a malformed certificate"},
            {SHOWN, chain, "no block BEGIN PRIVATE KEY"},
            {SHOWN, key, "no block BEGIN CERTIFICATE"},
            {SHOWN, key + key + chain, "2 private keys"},
            {SHOWN, anothers + chain, "a private key that is not that of the first certificate"},
            {SHOWN, locked + chain, "an encrypted private key without its password"},
            {
                SHOWN,
                Authority.pem("PRIVATE KEY", new byte[20]) + chain,
                "a malformed private key, or none of [RSA, EC, EdDSA]"
            },
            {SHOWN, Authority.pem("EC PRIVATE KEY", new byte[] {0x30, 3, 4}) + chain, "a malformed EC PRIVATE KEY"},
            {SHOWN, Authority.pem("DSA PRIVATE KEY", new byte[20]) + chain, "a block DSA PRIVATE KEY"},
        };
        for (String[] each : wrong) {
            String path = file("wrong.pem", each[1]);
            assertEquals(
                    List.of(each[0] + "location: got " + each[2] + " in " + path
                            + ", expected certificates in PEM, with a private key in a key store"),
                    refusals("https://127.0.0.1:9", each[0] + "type", "PEM", each[0] + "location", path));
        }
        assertEquals(
                List.of(SHOWN + "certificate.chain: got an encrypted private key that its password does not open,"
                        + " expected certificates in PEM, with a private key in a key store"),
                refusals(
                        "https://127.0.0.1:9",
                        SHOWN + "type",
                        "PEM",
                        SHOWN + "key",
                        locked,
                        SHOWN + "certificate.chain",
                        chain,
                        KEY_PASSWORD,
                        "wr0ng"));
        assertEquals(
                List.of(TRUST + "location: got /nowhere.crt, which cannot be read (NoSuchFileException), expected"
                        + " certificates in PEM, with a private key in a key store"),
                refusals("https://127.0.0.1:9", TRUST + "type", "PEM", TRUST + "location", "/nowhere.crt"));
    }
}
