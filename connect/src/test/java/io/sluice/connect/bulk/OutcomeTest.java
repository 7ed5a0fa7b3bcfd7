package io.sluice.connect.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.connect.encode.Operation.Kind;
import io.sluice.connect.encode.Operations;
import io.sluice.connect.metrics.Fate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OutcomeTest {
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
                "DELETE|404|index_not_found_exception|no such index [b]|ALREADY_THERE",
                "INDEX|404|index_not_found_exception|no such index [b]|UNSERVED",
                "INDEX|400|index_closed_exception|closed|UNSERVED",
                "INDEX|400|illegal_argument_exception|pipeline with id [enrich] does not exist|UNSERVED",
                "INDEX|400|document_parsing_exception|failed to parse|REJECTED",
                "INDEX|400|illegal_argument_exception|no write index is defined for alias [a]. The write index|UNSERVED",
                "INDEX|400|validation_exception|this action would add [2] shards, but this cluster has|AGAIN",
                "DELETE|404|shard_not_found_exception|no such shard|AGAIN_COUNTED",
                "INDEX|400|mapper_parsing_exception|failed to parse|REJECTED",
                "INDEX|400|an_error_of_the_future|what|REJECTED",
                "INDEX|413|too_large|what|REJECTED",
                "UPDATE|404|document_missing_exception|gone|REJECTED",
                "INDEX|404|resource_not_found_exception|No known trained model|AGAIN_COUNTED",
                "INDEX|400|illegal_argument_exception|only write ops with an op_type of create are allowed in data streams|UNSERVED",
                "CREATE|409|version_conflict_engine_exception|document already exists (current version [1])|ALREADY_THERE",
                "UPDATE|409|version_conflict_engine_exception|required seqNo [1]|AGAIN_COUNTED",
                "INDEX|409|version_conflict_engine_exception|current version [1009] is higher or equal to [1009]|ALREADY_THERE",
                "INDEX|409|version_conflict_engine_exception|current version [1010] is higher or equal to [1009]|STALE",
                "INDEX|409|version_conflict_engine_exception|current version [1764000000000000001] is higher or equal|STALE",
                "INDEX|409|version_conflict_engine_exception|current version [9999999999999999999] is higher|ALREADY_THERE",
                "DELETE|409|version_conflict_engine_exception|current version [1010] is higher|STALE",
                "INDEX|409|version_conflict_engine_exception|worded another way|ALREADY_THERE",
                "INDEX|409|||ALREADY_THERE",
                "INDEX|429|es_rejected_execution_exception|queue|AGAIN",
                "INDEX|429|cluster_block_exception|flood stage|AGAIN",
                "INDEX|502|x|y|AGAIN",
                "INDEX|503|unavailable_shards_exception|primary|AGAIN",
                "INDEX|504|x|y|AGAIN",
                "INDEX|403|cluster_block_exception|read-only|AGAIN",
                "INDEX|403|security_exception|denied|AGAIN_COUNTED",
                "INDEX|401|security_exception|denied|AGAIN_COUNTED",
                "INDEX|500|x|y|AGAIN_COUNTED",
                "INDEX|500|fail_processor_exception|why|AGAIN_COUNTED",
            })
    void statusesDecide(Kind kind, int status, String type, String reason, String expected) {
        ItemError error = type == null ? null : new ItemError(type, reason);
        assertEquals(named(expected), item(kind, status, ItemResult.STORED, error));
    }

    /** Only what the cluster stored counts as stored. */
    @ParameterizedTest
    @CsvSource({
        "CREATE,201,STORED,INDEXED",
        "CREATE,200,STORED,DROPPED_BY_PIPELINE",
        "CREATE,200,NOOP,DROPPED_BY_PIPELINE",
        "INDEX,200,NOOP,DROPPED_BY_PIPELINE",
        "UPDATE,200,NOOP,ALREADY_THERE",
        "CREATE,201,REDIRECTED,REDIRECTED",
        "INDEX,201,REDIRECTED,REDIRECTED"
    })
    void resultsTellWhatTheClusterDid(Kind kind, int status, ItemResult result, String expected) {
        assertEquals(named(expected), item(kind, status, result, null));
    }

    private static Outcome item(Kind kind, int status, ItemResult result, ItemError error) {
        return Outcome.ofItem(Operations.of(kind, 1009), status, result, error, true);
    }

    /** Where an index must exist, a delete that finds none is no success. */
    @Test
    void aDeleteNeedsAnIndexThatMustExist() {
        ItemError error = new ItemError("index_not_found_exception", "no such index [b]");
        assertEquals(
                Outcome.UNSERVED,
                Outcome.ofItem(Operations.of(Kind.DELETE, 1009), 404, ItemResult.STORED, error, false));
    }

    /** A refused request is repeated, halved or revoked by its status; a 400 by whether Elasticsearch itself says it. */
    @ParameterizedTest
    @CsvSource({
        "408,,AGAIN,AGAIN",
        "429,,AGAIN,AGAIN",
        "502,,AGAIN,AGAIN",
        "503,,AGAIN,AGAIN",
        "504,,AGAIN,AGAIN",
        "500,,AGAIN_COUNTED,AGAIN_COUNTED",
        "401,security_exception,FATAL,AGAIN_COUNTED",
        "403,security_exception,UNSERVED,AGAIN_COUNTED",
        "413,,IN_HALVES,IN_HALVES",
        "400,action_request_validation_exception,IN_HALVES,IN_HALVES",
        "400,x_content_parse_exception,IN_HALVES,IN_HALVES",
        "400,invalid_index_name_exception,UNSERVED,UNSERVED",
        "400,,AGAIN_COUNTED,AGAIN_COUNTED",
        "302,,FATAL,FATAL",
        "404,index_not_found_exception,UNSERVED,UNSERVED",
        "404,,FATAL,FATAL",
        "405,,FATAL,FATAL"
    })
    void refusalsDecide(int status, String type, String atFirst, String afterSuccess) {
        ItemError error = type == null ? ItemError.UNKNOWN : new ItemError(type, "reason");
        assertEquals(named(atFirst), Outcome.ofRequest(status, error, false));
        assertEquals(named(afterSuccess), Outcome.ofRequest(status, error, true));
    }

    /** What a document causes is told from what every request would be refused for. */
    @ParameterizedTest
    @CsvSource({
        "action_request_validation_exception,true",
        "x_content_parse_exception,true",
        "parsing_exception,true",
        "json_parse_exception,true",
        "json_e_o_f_exception,true",
        "not_x_content_exception,true",
        "input_coercion_exception,true",
        "stream_read_exception,true",
        "unexpected_end_of_input_exception,true",
        "class_cast_exception,true",
        "illegal_argument_exception,false",
        "unknown,false"
    })
    void aDocumentsFaultIsKnownByItsType(String type, boolean expected) {
        assertEquals(expected, Outcome.isAboutContent(new ItemError(type, "reason")));
    }

    private static Outcome named(String name) {
        return switch (name) {
            case "REJECTED" -> Outcome.REJECTED;
            case "AGAIN" -> Outcome.AGAIN;
            case "AGAIN_COUNTED" -> Outcome.AGAIN_COUNTED;
            case "IN_HALVES" -> Outcome.IN_HALVES;
            case "UNSERVED" -> Outcome.UNSERVED;
            case "FATAL" -> Outcome.FATAL;
            default -> new Outcome.Completed(Fate.valueOf(name));
        };
    }
}
