package io.sluice.connect.cluster;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import javax.crypto.Cipher;
import javax.crypto.EncryptedPrivateKeyInfo;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

/**
 * A private key of a PEM file: PKCS#8, encrypted or not, or the older forms that cert-manager and OpenSSL write by default:
 * PKCS#1 ({@code RSA PRIVATE KEY}) and SEC 1 ({@code EC PRIVATE KEY}). Java reads PKCS#8 only, which holds the older forms.
 */
final class PemKey {
    private static final List<String> ALGORITHMS = List.of("RSA", "EC", "EdDSA");

    private static final byte[] VERSION = HexFormat.of().parseHex("020100");
    /** The algorithm's identifier: rsaEncryption, without parameters. */
    private static final byte[] RSA = HexFormat.of().parseHex("300d06092a864886f70d0101010500");
    /** The object identifier of id-ecPublicKey. */
    private static final byte[] EC = HexFormat.of().parseHex("06072a8648ce3d0201");

    private static final int SEQUENCE = 0x30;
    private static final int OCTETS = 0x04;
    private static final int OBJECT = 0x06;
    /** Where SEC 1 names the curve. */
    private static final int PARAMETERS = 0xa0;

    private PemKey() {}

    /** @param password {@code null} for none */
    static PrivateKey read(String label, byte[] der, char[] password) throws GeneralSecurityException {
        try {
            return switch (label) {
                case "PRIVATE KEY" -> key(new PKCS8EncodedKeySpec(der));
                case "ENCRYPTED PRIVATE KEY" -> key(decrypted(der, password));
                case "RSA PRIVATE KEY" -> key(pkcs8(RSA, der));
                case "EC PRIVATE KEY" -> key(pkcs8(wrapped(SEQUENCE, EC, curve(der)), der));
                default -> throw new GeneralSecurityException("a block " + label);
            };
        } catch (IOException | IndexOutOfBoundsException malformed) {
            throw new GeneralSecurityException("a malformed " + label, malformed);
        }
    }

    private static PrivateKey key(PKCS8EncodedKeySpec encoded) throws GeneralSecurityException {
        for (String algorithm : ALGORITHMS) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(encoded);
            } catch (InvalidKeySpecException another) {
                // The next may be it.
            }
        }
        throw new GeneralSecurityException("a malformed private key, or none of " + ALGORITHMS);
    }

    private static PKCS8EncodedKeySpec decrypted(byte[] der, char[] password)
            throws GeneralSecurityException, IOException {
        if (password == null) {
            throw new GeneralSecurityException("an encrypted private key without its password");
        }
        EncryptedPrivateKeyInfo info = new EncryptedPrivateKeyInfo(der);
        // Of PBES2 only the parameters tell which cipher it is.
        String algorithm = String.valueOf(info.getAlgParameters());
        String name = algorithm.startsWith("PBEWith") ? algorithm : info.getAlgName();
        try {
            Cipher cipher = Cipher.getInstance(name);
            cipher.init(
                    Cipher.DECRYPT_MODE,
                    SecretKeyFactory.getInstance(name).generateSecret(new PBEKeySpec(password)),
                    info.getAlgParameters());
            return info.getKeySpec(cipher);
        } catch (GeneralSecurityException closed) {
            throw new GeneralSecurityException("an encrypted private key that its password does not open", closed);
        }
    }

    private static PKCS8EncodedKeySpec pkcs8(byte[] algorithm, byte[] der) {
        return new PKCS8EncodedKeySpec(wrapped(SEQUENCE, VERSION, algorithm, wrapped(OCTETS, der)));
    }

    /** The object identifier of the curve, with its tag. */
    private static byte[] curve(byte[] sec1) throws GeneralSecurityException {
        int at = contentAt(sec1, 0);
        while (at < sec1.length) {
            int content = contentAt(sec1, at);
            if ((sec1[at] & 0xff) == PARAMETERS && sec1[content] == OBJECT) {
                return Arrays.copyOfRange(sec1, content, content + lengthAt(sec1, at));
            }
            at = content + lengthAt(sec1, at);
        }
        throw new GeneralSecurityException("an EC PRIVATE KEY that does not name its curve");
    }

    private static int contentAt(byte[] der, int at) {
        return at + 2 + (der[at + 1] < 0 ? der[at + 1] & 0x7f : 0);
    }

    private static int lengthAt(byte[] der, int at) {
        int length = der[at + 1] < 0 ? 0 : der[at + 1];
        for (int i = at + 2; i < contentAt(der, at); i++) {
            length = length << 8 | der[i] & 0xff;
        }
        return length;
    }

    /** The parts as the content of one element. */
    private static byte[] wrapped(int tag, byte[]... parts) {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        Arrays.stream(parts).forEach(content::writeBytes);
        ByteArrayOutputStream element = new ByteArrayOutputStream();
        element.write(tag);
        if (content.size() >= 0x100) {
            element.write(0x82);
            element.write(content.size() >> 8);
        } else if (content.size() >= 0x80) {
            element.write(0x81);
        }
        element.write(content.size());
        element.writeBytes(content.toByteArray());
        return element.toByteArray();
    }
}
