package io.sluice.connect.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.config.ConnectionSettings;
import io.sluice.connect.config.DocumentSettings;
import io.sluice.connect.config.GivenSettings;
import io.sluice.connect.config.OnNullValues;
import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.config.Target;
import io.sluice.connect.config.WriteMethod;
import java.net.URLEncoder;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.hc.core5.http.HttpStatus;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.connect.errors.ConnectException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the cluster whether the settings will do: reachable, let in, allowed to write, targets and pipeline there, not too old.
 *
 * <p>Only requests that any account may make of its own access, and of targets that it must be able to see.
 */
public final class ClusterCheck {
    private static final Logger LOG = LoggerFactory.getLogger(ClusterCheck.class);

    /** For all requests together; the worker's REST API waits meanwhile, 90 s at most. */
    private static final int LONGEST_MS = 30_000;

    private static final int CONNECTIONS = 1;
    private static final List<String> KINDS = List.of("indices", "aliases", "data_streams");

    /** A request takes _none for no pipeline; the question takes commas and asterisks for several. */
    private static final Predicate<String> STANDS_FOR_ONE =
            Pattern.compile("(?!_none$)[^,*]+").asMatchPredicate();

    private final SinkConfig config;
    private final List<String> topics;
    private final Questions questions;
    private final BiConsumer<String, String> refuse;

    private ClusterCheck(
            SinkConfig config, List<String> topics, Questions questions, BiConsumer<String, String> refuse) {
        this.config = config;
        this.topics = topics;
        this.questions = questions;
        this.refuse = refuse;
    }

    /** Adds to settings that are right in themselves what the cluster says against them. */
    public static void complete(Config judged, Map<String, String> settings) {
        boolean isRight = judged.configValues().stream()
                .allMatch(value -> value.errorMessages().isEmpty());
        if (!isRight) {
            return;
        }
        SinkConfig config = new SinkConfig(settings);
        if (config.connection().validated()) {
            Map<String, ConfigValue> values =
                    judged.configValues().stream().collect(Collectors.toMap(ConfigValue::name, value -> value));
            ask(config, GivenSettings.topics(settings), (key, why) -> values.get(key)
                    .addErrorMessage(key + ": " + why));
        }
    }

    /** Logs which aliases of several indices get keyed documents; an alias may have got its second one since the check. */
    public static void warnOfAliases(Map<String, String> settings) {
        SinkConfig config = new SinkConfig(settings);
        List<String> topics = GivenSettings.topics(settings).stream()
                .filter(topic -> !config.identity().keyIgnored(topic))
                .filter(topic -> !config.targets().targetOf(topic).isDataStream())
                .filter(topic -> !config.targets().targetOf(topic).isDated())
                .collect(Collectors.toList());
        try (ClusterClient client = client(config)) {
            Questions questions = new Questions(client, LONGEST_MS);
            for (String topic : topics) {
                String name = config.targets().targetOf(topic).nameAt(null);
                long indices = questions.ask(resolve(name)).indicesOfAliases();
                if (indices > 1) {
                    LOG.warn(
                            "{}: {} for {} is an alias of {} indices: a record with key.ignore=false whose document is not"
                                    + " in the write index is stored a second time",
                            settings.get("name"),
                            name,
                            topic,
                            indices);
                }
            }
        } catch (Unanswered | ConnectException unanswered) {
            LOG.debug("{}: cannot ask for aliases", settings.get("name"), unanswered);
        }
    }

    private static ClusterClient client(SinkConfig config) {
        ConnectionSettings connection = config.connection();
        // One that keeps silent must leave time for the others.
        int longestOfOneMs = LONGEST_MS / connection.nodes().size();
        int connectTimeoutMs = Math.min(connection.connectionTimeoutMs(), longestOfOneMs);
        int readTimeoutMs = Math.min(connection.readTimeoutMs(), longestOfOneMs);
        return new ClusterClient(config, connectTimeoutMs, readTimeoutMs, CONNECTIONS);
    }

    private static void ask(SinkConfig config, List<String> topics, BiConsumer<String, String> refuse) {
        try (ClusterClient client = client(config)) {
            new ClusterCheck(config, topics, new Questions(client, LONGEST_MS), refuse).run();
        } catch (UnusableSetting unusable) {
            refuse.accept(unusable.key(), unusable.why());
        } catch (ConnectException unusable) {
            refuse.accept(config.tls().key(), unusable.getMessage());
        }
    }

    private void run() {
        try {
            if (isLetIn()) {
                requireTargets();
                requirePipeline();
                requireVersion();
            }
        } catch (Redirected elsewhere) {
            refuse.accept(
                    ConnectionSettings.CONNECTION_URL,
                    "got status " + elsewhere.status() + " from " + hosts()
                            + ", expected Elasticsearch's own URL: redirects are not followed");
        } catch (Unanswered unanswered) {
            refuse.accept(
                    ConnectionSettings.CONNECTION_URL,
                    "got no answer from " + hosts() + " (" + unanswered.getMessage()
                            + "), expected Elasticsearch; start it, correct the URL, or set "
                            + ConnectionSettings.VALIDATE_CONNECTION + "=false");
        }
    }

    private String hosts() {
        return config.connection().hostNames();
    }

    /** Whatever the answer's status is, as long as it is the cluster's own. */
    private Answer ask(ClusterRequest request) throws Unanswered, Redirected {
        Answer answer = questions.ask(request);
        if (answer.isRedirection()) {
            throw new Redirected(answer.status());
        }
        return answer;
    }

    /** Whether the cluster takes the credentials; says which privileges they lack. */
    private boolean isLetIn() throws Unanswered, Redirected {
        Privileges needed = Privileges.of(config, topics);
        Answer answer = ask(needed.question());
        switch (answer.status()) {
            case HttpStatus.SC_UNAUTHORIZED, HttpStatus.SC_FORBIDDEN -> refuseCredentials(answer.status());
            case HttpStatus.SC_PROXY_AUTHENTICATION_REQUIRED ->
                refuse.accept(
                        config.proxy().credentialKey(),
                        "got status 407 from the proxy, expected credentials that it accepts");
            case HttpStatus.SC_BAD_GATEWAY, HttpStatus.SC_SERVICE_UNAVAILABLE, HttpStatus.SC_GATEWAY_TIMEOUT ->
                throw new Unanswered("status " + answer.status());
            case HttpStatus.SC_OK -> needed.lackingIn(answer).forEach(this::refusePrivilege);
            default -> {
                // Without security there is nobody to ask about privileges, and nothing is amiss.
                return true;
            }
        }
        return answer.status() == HttpStatus.SC_OK;
    }

    private void refuseCredentials(int status) {
        String key = config.connection().credentialKey();
        boolean isGiven = config.connection().hasCredentials();
        refuse.accept(
                key,
                "got " + (isGiven ? "rejected credentials" : "no credentials") + " (" + status + " from " + hosts()
                        + "), expected credentials that Elasticsearch accepts");
    }

    private void refusePrivilege(String privilege) {
        refuse.accept(
                config.connection().credentialKey(),
                "got an account without the privilege " + privilege
                        + ", expected one that has it; see the role in the sink's README");
    }

    private void requireTargets() throws Unanswered, Redirected {
        for (String topic : topics) {
            Target target = config.targets().targetOf(topic);
            boolean mustExist = !config.targets().autoCreate();
            boolean mustBeOne = changesDocuments(topic, target);
            if (!target.isDated() && (mustExist || mustBeOne)) {
                String name = target.nameAt(null);
                Answer answer = ask(resolve(name));
                if (mustExist) {
                    requireTarget(topic, name, answer);
                }
                if (mustBeOne) {
                    requireOneIndex(topic, name, answer);
                }
            }
        }
    }

    private static ClusterRequest resolve(String name) {
        return new ClusterRequest("GET", "/_resolve/index/" + URLEncoder.encode(name, UTF_8));
    }

    private void requireTarget(String topic, String name, Answer answer) {
        String key = config.targets().existenceKey();
        if (isMissing(answer)) {
            refuse.accept(
                    key,
                    "got " + name + " for " + topic + ", which does not exist, expected a target that does; create"
                            + " it first");
            return;
        }
        String wanted = config.targets().kindOf(topic);
        if (answer.status() == HttpStatus.SC_OK
                && wanted != null
                && answer.names(wanted).isEmpty()) {
            refuse.accept(
                    key,
                    "got " + name + " for " + topic + ", expected " + withArticle(wanted) + ", as "
                            + config.targets().usageKey() + " says");
        }
    }

    /** Whether a record may be meant to change a document that is there. */
    private boolean changesDocuments(String topic, Target target) {
        boolean isKeyed = !config.identity().keyIgnored(topic) && !target.isDataStream();
        return isKeyed
                && (config.writing().writeMethod() == WriteMethod.UPSERT
                        || config.writing().onNullValues() == OnNullValues.DELETE);
    }

    /** An alias writes into one of its indices: what is in the others would stay as it is. */
    private void requireOneIndex(String topic, String name, Answer answer) {
        long indices = answer.indicesOfAliases();
        if (indices > 1) {
            refuse.accept(
                    config.targets().nameKey(topic),
                    "got " + name + " for " + topic + ", an alias of " + indices + " indices, expected one index with"
                            + " upserts or deletes: they do not reach documents outside the alias's write index");
        }
    }

    private static String withArticle(String kind) {
        return switch (kind) {
            case "indices" -> "an index";
            case "aliases" -> "an alias";
            default -> "a data stream";
        };
    }

    /** Elasticsearch 7.17 does not say 404, but that the name stands for nothing. */
    private static boolean isMissing(Answer answer) {
        return answer.status() == HttpStatus.SC_NOT_FOUND
                || answer.status() == HttpStatus.SC_OK
                        && KINDS.stream().allMatch(kind -> answer.names(kind).isEmpty());
    }

    /** Needs a cluster privilege that the sink does without; only the cluster's own 404 means a finding. */
    private void requirePipeline() throws Unanswered, Redirected {
        String name = config.documents().pipeline();
        if (name.isEmpty() || !STANDS_FOR_ONE.test(name)) {
            return;
        }
        String escaped = URLEncoder.encode(name, UTF_8).replace("+", "%20");
        // Leaves out what the pipeline does, which may be long.
        Answer answer = ask(new ClusterRequest("GET", "/_ingest/pipeline/" + escaped + "?filter_path=*.version"));
        if (answer.status() == HttpStatus.SC_NOT_FOUND && answer.isObject()) {
            refuse.accept(
                    DocumentSettings.PIPELINE,
                    "got " + name + ", which does not exist, expected an ingest pipeline that does; create it first");
        }
    }

    /** Needs a cluster privilege that the sink does without; no answer means no finding. */
    private void requireVersion() throws Unanswered, Redirected {
        Answer answer = ask(new ClusterRequest("GET", "/"));
        String version = answer.status() == HttpStatus.SC_OK ? answer.elasticsearchVersion() : null;
        if (version != null && isTooOld(version)) {
            refuse.accept(
                    ConnectionSettings.CONNECTION_URL,
                    "got Elasticsearch " + version + " at " + hosts() + ", expected 7.17 or later");
        }
    }

    private static boolean isTooOld(String version) {
        String[] parts = version.split("\\D");
        int major = Integer.parseInt(parts[0]);
        return major < 7 || major == 7 && Integer.parseInt(parts[1]) < 17;
    }
}
