package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;

/** Puts members at the beginning of a JSON object without parsing what follows. */
final class Splice {
    private Splice() {}

    /** @param json one JSON object, checked; @param members text such as {@code "a":1}, not empty */
    static byte[] into(byte[] json, String members) {
        byte[] added = members.getBytes(UTF_8);
        int open = 0;
        while (json[open] != '{') {
            open++;
        }
        int next = open + 1;
        while (json[next] <= ' ' && json[next] >= 0) {
            next++;
        }
        boolean isEmpty = json[next] == '}';
        byte[] whole = new byte[added.length + (isEmpty ? 1 : 2) + json.length - next];
        whole[0] = '{';
        System.arraycopy(added, 0, whole, 1, added.length);
        int at = 1 + added.length;
        if (!isEmpty) {
            whole[at++] = ',';
        }
        System.arraycopy(json, next, whole, at, json.length - next);
        return whole;
    }
}
