package io.sluice.connect.cluster;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.SignatureException;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Certificates and a private key in text, as cert-manager, ECK and OpenSSL write them; what stands between the blocks is skipped. */
final class Pem {
    private static final Pattern BLOCK =
            Pattern.compile("-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \\1-----", Pattern.DOTALL);
    private static final String CERTIFICATE = "CERTIFICATE";

    private final List<Block> blocks = new ArrayList<>();

    private record Block(String label, String content) {
        byte[] bytes() throws GeneralSecurityException {
            try {
                return Base64.getMimeDecoder().decode(content.trim());
            } catch (IllegalArgumentException malformed) {
                throw new GeneralSecurityException("a " + label + " that is not in base64", malformed);
            }
        }
    }

    Pem(String text) {
        Matcher found = BLOCK.matcher(text);
        while (found.find()) {
            blocks.add(new Block(found.group(1), found.group(2)));
        }
    }

    /** All certificates, in their order. */
    Certificate[] certificates() throws GeneralSecurityException {
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        List<Certificate> certificates = new ArrayList<>();
        for (Block block : blocks) {
            if (block.label.equals(CERTIFICATE)) {
                certificates.add(certificate(factory, block.bytes()));
            }
        }
        if (certificates.isEmpty()) {
            throw new GeneralSecurityException("no block BEGIN CERTIFICATE");
        }
        return certificates.toArray(Certificate[]::new);
    }

    private static Certificate certificate(CertificateFactory factory, byte[] bytes) throws GeneralSecurityException {
        try {
            return factory.generateCertificate(new ByteArrayInputStream(bytes));
        } catch (CertificateException malformed) {
            throw new GeneralSecurityException("a malformed certificate", malformed);
        }
    }

    /** The only private key. */
    PrivateKey key(char[] password) throws GeneralSecurityException {
        List<Block> keys = blocks.stream()
                .filter(block -> block.label.endsWith("PRIVATE KEY"))
                .toList();
        if (keys.size() != 1) {
            throw new GeneralSecurityException(
                    keys.isEmpty() ? "no block BEGIN PRIVATE KEY" : keys.size() + " private keys");
        }
        Block key = keys.get(0);
        return PemKey.read(key.label, key.bytes(), password);
    }

    /** Trusts each certificate. */
    KeyStore trusted() throws GeneralSecurityException, IOException {
        KeyStore store = empty();
        Certificate[] certificates = certificates();
        for (int i = 0; i < certificates.length; i++) {
            store.setCertificateEntry(CERTIFICATE + i, certificates[i]);
        }
        return store;
    }

    /** Shows the chain, whose first certificate must be that of the key. */
    KeyStore keyed(char[] password) throws GeneralSecurityException, IOException {
        PrivateKey key = key(password);
        Certificate[] chain = certificates();
        if (!isPair(key, chain[0].getPublicKey())) {
            throw new GeneralSecurityException("a private key that is not that of the first certificate");
        }
        KeyStore store = empty();
        store.setKeyEntry("key", key, new char[0], chain);
        return store;
    }

    private static boolean isPair(PrivateKey key, PublicKey certified) throws GeneralSecurityException {
        String hash = key.getAlgorithm().equals("EdDSA") ? "" : "SHA256with";
        String algorithm = hash + (key.getAlgorithm().equals("EC") ? "ECDSA" : key.getAlgorithm());
        try {
            Signature signature = Signature.getInstance(algorithm);
            signature.initSign(key);
            byte[] signed = signature.sign();
            signature.initVerify(certified);
            return signature.verify(signed);
        } catch (InvalidKeyException | SignatureException ofAnotherKind) {
            return false;
        }
    }

    private static KeyStore empty() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }
}
