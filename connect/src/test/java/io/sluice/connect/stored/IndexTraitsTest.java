package io.sluice.connect.stored;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.connect.cluster.Answer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IndexTraitsTest {
    private static IndexTraits of(int status, String json) {
        return IndexTraits.of(new Answer("node", status, json.getBytes(UTF_8), false));
    }

    /** What changes documents is known from settings and mappings. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '\0',
            value = {
                "{}||false",
                "{'mappings':{'properties':{'a':{'type':'keyword'},'default_pipeline':{'type':'text'}}}}||false",
                "{'settings':{'index':{'default_pipeline':'_none','final_pipeline':'_none'}}}||false",
                "{'settings':{'index':{'default_pipeline':'p'}}}|an ingest pipeline of the index may change documents|false",
                "{'settings':{'index':{'final_pipeline':'p'}}}|an ingest pipeline of the index may change documents|false",
                "{'mappings':{'_source':{'enabled':'true'}}}||false",
                "{'mappings':{'_source':{'enabled':false}}}|the index does not keep all of _source|false",
                "{'mappings':{'_source':{'excludes':['a']}}}|the index does not keep all of _source|false",
                "{'settings':{'index':{'mode':'standard'}}}||false",
                "{'settings':{'index':{'mode':'logsdb'}}}|the index does not keep _source as it was sent|true",
                "{'settings':{'index':{'mode':'logsdb','mapping':{'source':{'mode':'stored'}}}}}||false",
                "{'settings':{'index':{'mode':'columnar'}}}|the index does not keep _source as it was sent|true",
                "{'settings':{'index':{'mode':'logsdb_columnar'}}}|the index does not keep _source as it was sent|true",
                "{'settings':{'index':{'mapping':{'source':{'mode':'columnar_stored'}}}}}"
                        + "|the index does not keep _source as it was sent|true",
                "{'mappings':{'_source':{'mode':'synthetic'}}}|the index does not keep _source as it was sent|true",
                "{'settings':{'index':{'derived_source':{'enabled':'true'}}}}|the index does not keep _source as it was sent|true",
                "{'mappings':{'properties':{'o':{'properties':{'v':{'type':'dense_vector'}}}}}}"
                        + "|a field of the type dense_vector may not be kept as it was sent|false",
            })
    void whatChangesDocumentsIsKnown(String index, String doubt, boolean isSynthetic) {
        String json = "{\"a/b\":" + index.replace('\'', '"') + "}";
        assertEquals(new IndexTraits(doubt == null ? "" : doubt, isSynthetic), of(200, json));
    }

    /** An index that cannot be asked about may do anything. */
    @Test
    void anIndexThatCannotBeAskedAboutMayDoAnything() {
        assertEquals(
                "the account lacks the privilege view_index_metadata",
                of(403, "{}").doubt());
        assertTrue(of(404, "{}").doubt().contains("status 404"));
    }
}
