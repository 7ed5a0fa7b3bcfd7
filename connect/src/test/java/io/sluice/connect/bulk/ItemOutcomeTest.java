package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.connect.encode.Operation.Kind;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ItemOutcomeTest {
    /** The status decides; the type names only index troubles, the reason only a newer version. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "INDEX|201|||INDEXED",
                "CREATE|201|||INDEXED",
                "UPDATE|201|||INDEXED",
                "INDEX|200|||UPDATED",
                "UPDATE|200|||UPDATED",
                "DELETE|200|||DELETED",
                "DELETE|404|||ALREADY_THERE",
                "DELETE|404|index_not_found_exception|no such index [b]|UNUSABLE_INDEX",
                "INDEX|404|index_not_found_exception|no such index [b]|UNUSABLE_INDEX",
                "INDEX|400|index_closed_exception|closed|UNUSABLE_INDEX",
                "INDEX|400|document_parsing_exception|failed to parse|REJECTED",
                "INDEX|400|mapper_parsing_exception|failed to parse|REJECTED",
                "INDEX|400|an_error_of_the_future|what|REJECTED",
                "INDEX|413|too_large|what|REJECTED",
                "UPDATE|404|document_missing_exception|gone|REJECTED",
                "CREATE|409|version_conflict_engine_exception|document already exists (current version [1])|ALREADY_THERE",
                "UPDATE|409|version_conflict_engine_exception|required seqNo [1]|RETRY_COUNTED",
                "INDEX|409|version_conflict_engine_exception|current version [1009] is higher or equal to [1009]|ALREADY_THERE",
                "INDEX|409|version_conflict_engine_exception|current version [1010] is higher or equal to [1009]|STALE",
                "DELETE|409|version_conflict_engine_exception|current version [1010] is higher|STALE",
                "INDEX|409|version_conflict_engine_exception|worded another way|ALREADY_THERE",
                "INDEX|409|||ALREADY_THERE",
                "INDEX|429|es_rejected_execution_exception|queue|RETRY",
                "INDEX|429|cluster_block_exception|flood stage|RETRY",
                "INDEX|502|x|y|RETRY",
                "INDEX|503|unavailable_shards_exception|primary|RETRY",
                "INDEX|504|x|y|RETRY",
                "INDEX|403|cluster_block_exception|read-only|RETRY",
                "INDEX|403|security_exception|denied|RETRY_COUNTED",
                "INDEX|401|security_exception|denied|RETRY_COUNTED",
                "INDEX|500|x|y|RETRY_COUNTED",
            })
    void statusesDecide(Kind kind, int status, String type, String reason, ItemOutcome expected) {
        ItemError error = type == null ? null : new ItemError(type, reason);
        assertEquals(expected, ItemOutcome.of(kind, status, error, 1009));
    }

    /** A refused request is repeated, split or given up by its status alone. */
    @ParameterizedTest
    @CsvSource({
        "408,RETRY,RETRY",
        "429,RETRY,RETRY",
        "502,RETRY,RETRY",
        "503,RETRY,RETRY",
        "504,RETRY,RETRY",
        "500,RETRY_COUNTED,RETRY_COUNTED",
        "401,FAIL,RETRY_COUNTED",
        "403,FAIL,RETRY_COUNTED",
        "413,SPLIT,SPLIT",
        "400,FAIL,FAIL",
        "404,FAIL,FAIL",
        "405,FAIL,FAIL"
    })
    void refusalsDecide(int status, RequestOutcome atFirst, RequestOutcome afterSuccess) {
        assertEquals(atFirst, RequestOutcome.of(status, false));
        assertEquals(afterSuccess, RequestOutcome.of(status, true));
    }
}
