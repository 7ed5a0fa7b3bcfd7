package io.sluice.connect.shard;

import io.sluice.connect.encode.DocumentIds;

/**
 * Murmur3 (x86, 32 bits, seed 0) over the UTF-16LE bytes of a text.
 *
 * <p>Source: {@code Murmur3HashFunction.java} of Elasticsearch, which hashes two bytes per {@code char}, the low one first;
 * MurmurHash3_x86_32 of Austin Appleby, in the public domain.
 */
final class Murmur3 {
    private static final int C1 = 0xcc9e2d51;
    private static final int C2 = 0x1b873593;

    private Murmur3() {}

    /** @param text as it stands between the quotes of a JSON string */
    static int ofText(byte[] text) {
        for (byte b : text) {
            if (b < 0 || b == '\\') {
                return ofChars(DocumentIds.unquoted(text));
            }
        }
        return ofAscii(text);
    }

    /** Two characters are four bytes of UTF-16LE: one block. */
    private static int ofAscii(byte[] text) {
        int hash = 0;
        int pairs = text.length & ~1;
        for (int i = 0; i < pairs; i += 2) {
            hash = afterBlock(hash, text[i] | text[i + 1] << Short.SIZE);
        }
        int rest = pairs < text.length ? text[pairs] : 0;
        return end(hash, rest, 2 * text.length);
    }

    private static int ofChars(String text) {
        int hash = 0;
        int pairs = text.length() & ~1;
        for (int i = 0; i < pairs; i += 2) {
            hash = afterBlock(hash, text.charAt(i) | text.charAt(i + 1) << Short.SIZE);
        }
        int rest = pairs < text.length() ? text.charAt(pairs) : 0;
        return end(hash, rest, 2 * text.length());
    }

    private static int afterBlock(int hash, int block) {
        return Integer.rotateLeft(hash ^ mixed(block), 13) * 5 + 0xe6546b64;
    }

    /** Zero stays zero, so that no rest changes nothing. */
    private static int mixed(int block) {
        return Integer.rotateLeft(block * C1, 15) * C2;
    }

    private static int end(int before, int rest, int bytes) {
        int hash = before ^ mixed(rest) ^ bytes;
        hash = (hash ^ hash >>> 16) * 0x85ebca6b;
        hash = (hash ^ hash >>> 13) * 0xc2b2ae35;
        return hash ^ hash >>> 16;
    }
}
