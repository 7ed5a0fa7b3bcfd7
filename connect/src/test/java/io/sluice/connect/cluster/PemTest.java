package io.sluice.connect.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import org.junit.jupiter.api.Test;

/** Private keys as OpenSSL 3.0 wrote them; they were made for these tests and open nothing. */
class PemTest {
    private static final String KEY = " PRIVATE KEY-----";

    /** {@code openssl ecparam -name prime256v1 -genkey}. */
    private static final String EC = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
            + "-----BEGIN EC" + KEY
            + "\nMHcCAQEEIOOYvVn0JOlcYkWYhvvXDHMi3q+2QGo9eiqcCqRLVz5FoAoGCCqGSM49\n"
            + "AwEHoUQDQgAEOizPlq7pMHC4EN0w7FVH9ES1eBKCDYjtr+N64BkdeIqDfiYompcJ\n"
            + "aQm9RnfzOVzUO8u5OZqDFVptqn81cUx2Xw==\n-----END EC" + KEY + "\n";

    private static final String EC_PUBLIC =
            "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEOizPlq7pMHC4EN0w7FVH9ES1eBKCDYjtr+N64BkdeIqDfiYompcJaQm9RnfzOVzU"
                    + "O8u5OZqDFVptqn81cUx2Xw==";

    /** {@code openssl pkcs8 -topk8 -v2 aes-256-cbc}, of an Ed25519 key. */
    private static final String ENCRYPTED = "-----BEGIN ENCRYPTED" + KEY
            + "\nMIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiBXBjClfaLCQICCAAw\n"
            + "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEFCRW0QX+shuYShlY8ndKd8EQJad\n"
            + "8/clKAri0IyafzKTGRILqGa/3PwtAMJXeudPKEgKFCKk3m4eXYjl/9wHFnO4wNLN\n"
            + "ttr9jxkZN0biC5h8ZQc=\n-----END ENCRYPTED" + KEY + "\n";

    private static final String ED_PUBLIC = "MCowBQYDK2VwAyEAaNWf9NOyRIxLAQ0xQZ9bxKT7RknHh8SIrxsmzUDNTVQ=";

    private static void assertIsPair(String algorithm, String signing, PrivateKey key, String certified)
            throws GeneralSecurityException {
        PublicKey publicKey = KeyFactory.getInstance(algorithm)
                .generatePublic(new X509EncodedKeySpec(Base64.getDecoder().decode(certified)));
        Signature signature = Signature.getInstance(signing);
        signature.initSign(key);
        signature.update((byte) 7);
        byte[] signed = signature.sign();
        signature.initVerify(publicKey);
        signature.update((byte) 7);
        assertTrue(signature.verify(signed));
    }

    /** The curve is found in the older form of an EC key, and the block of parameters before it is skipped. */
    @Test
    void sec1KeysAreRead() throws GeneralSecurityException {
        assertIsPair("EC", "SHA256withECDSA", new Pem(EC).key(null), EC_PUBLIC);
        assertIsPair("EC", "SHA256withECDSA", new Pem(EC.replace('\n', ' ')).key(null), EC_PUBLIC);
    }

    /** The cipher of an encrypted key is found, whatever Java's version calls it. */
    @Test
    void encryptedKeysAreRead() throws GeneralSecurityException {
        assertIsPair("Ed25519", "Ed25519", new Pem(ENCRYPTED).key("s3cret".toCharArray()), ED_PUBLIC);
        GeneralSecurityException closed =
                assertThrows(GeneralSecurityException.class, () -> new Pem(ENCRYPTED).key("other".toCharArray()));
        assertEquals("an encrypted private key that its password does not open", closed.getMessage());
    }

    /** What is not in base64, or broken off at any byte, is refused; nothing else is thrown. */
    @Test
    void whatIsBrokenOffIsRefused() {
        String content = EC.split("EC" + KEY)[1].replace("\n", "").replace("-----END ", "");
        byte[] whole = Base64.getDecoder().decode(content);
        for (int length = 0; length < whole.length; length++) {
            String part = Base64.getEncoder().encodeToString(Arrays.copyOf(whole, length));
            Pem pem = new Pem("-----BEGIN EC" + KEY + part + "-----END EC" + KEY);
            assertThrows(GeneralSecurityException.class, () -> pem.key(null), () -> "of " + part);
        }
        Pem odd = new Pem("-----BEGIN" + KEY + "A-----END" + KEY);
        assertThrows(GeneralSecurityException.class, () -> odd.key(null));
    }
}
