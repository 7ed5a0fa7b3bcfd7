package io.sluice.connect.bulk;

/** What it means that a bulk request was refused as a whole. */
enum RequestOutcome {
    /** Again, for as long as the time bound allows. */
    RETRY,
    /** Again, a counted number of times. */
    RETRY_COUNTED,
    /** Too large: again in two halves. */
    SPLIT,
    /** It would be refused for ever. */
    FAIL;

    /** @param authorised whether an earlier request with the same credentials was accepted */
    static RequestOutcome of(int status, boolean authorised) {
        return switch (status) {
            case 408, 429, 502, 503, 504 -> RETRY;
            case 401, 403 -> authorised ? RETRY_COUNTED : FAIL;
            case 413 -> SPLIT;
            default -> status >= 500 ? RETRY_COUNTED : FAIL;
        };
    }
}
