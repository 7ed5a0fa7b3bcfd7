package io.sluice.standin;

import java.util.Map;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.standard.StandardTokenizer;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.index.IndexSettings;
import org.elasticsearch.index.analysis.TokenFilterFactory;
import org.elasticsearch.index.analysis.TokenizerFactory;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.plugins.Plugin;

/**
 * The names that the mapping of Elasticsearch's own security index asks for, so that it can be made, and API keys in it.
 *
 * <p>They belong to a module that the server in here lacks, and matter only to who searches users by parts of their e-mail
 * addresses: here those are words like any other.
 */
public final class StandInAnalysis extends Plugin implements AnalysisPlugin {
    @Override
    public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
        return Map.of("pattern_capture", StandInAnalysis::unchanged, "unique", StandInAnalysis::unchanged);
    }

    @Override
    public Map<String, AnalysisProvider<TokenizerFactory>> getTokenizers() {
        return Map.of(
                "uax_url_email",
                (index, environment, name, settings) -> TokenizerFactory.newFactory(name, StandardTokenizer::new));
    }

    private static TokenFilterFactory unchanged(
            IndexSettings index, Environment environment, String filter, Settings settings) {
        return new TokenFilterFactory() {
            @Override
            public String name() {
                return filter;
            }

            @Override
            public TokenStream create(TokenStream tokens) {
                return tokens;
            }
        };
    }
}
