package io.sluice.connect.config;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.ConfigDef.Validator;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.types.Password;

/** What a setting accepts; a refusal reads {@code key: got X, expected Y}. */
final class Accepts {
    /**
     * The worker's property that names the files which connectors may send as tokens: whoever may create a connector could
     * otherwise have the worker send any file's content to any host.
     */
    static final String TOKEN_FILES = "sluice.bearer.token.files";

    private Accepts() {}

    /** What is missing or of the wrong type has been refused already, and comes here as null. */
    private static Validator present(Validator validator) {
        return (key, value) -> {
            if (value != null) {
                validator.ensureValid(key, value);
            }
        };
    }

    static Validator atLeast(long least) {
        return present((key, value) -> {
            if (((Number) value).longValue() < least) {
                throw refusal(key, value, "at least " + least);
            }
        });
    }

    static Validator atLeastOr(long least, long exception) {
        return present((key, value) -> {
            long number = ((Number) value).longValue();
            if (number < least && number != exception) {
                throw refusal(key, value, "at least " + least + ", or " + exception);
            }
        });
    }

    static Validator between(long least, long most) {
        return present((key, value) -> {
            long number = ((Number) value).longValue();
            if (number < least || number > most) {
                throw refusal(key, value, least + " to " + most);
            }
        });
    }

    static Validator oneOf(Class<? extends Enum<?>> choices) {
        List<String> names = Arrays.stream(choices.getEnumConstants())
                .map(choice -> choice.name().toLowerCase(Locale.ROOT))
                .collect(Collectors.toList());
        return present((key, value) -> {
            if (!names.contains(value.toString().toLowerCase(Locale.ROOT))) {
                throw refusal(key, value, "one of " + String.join(", ", names));
            }
        });
    }

    static Validator someOf(Class<? extends Enum<?>> choices) {
        Validator one = oneOf(choices);
        return present((key, value) -> ((List<?>) value).forEach(choice -> one.ensureValid(key, choice)));
    }

    /** Text that can stand in an id or a log. */
    static Validator text(int mostBytes) {
        return present((key, value) -> {
            int bytes = value.toString().getBytes(UTF_8).length;
            if (bytes > mostBytes) {
                throw refusal(key, bytes + " bytes", "at most " + mostBytes);
            }
            if (value.toString().chars().anyMatch(Character::isISOControl)) {
                throw refusal(key, "a control character", "none");
            }
        });
    }

    /** A target's name, which may hold dates. */
    static Validator targetName() {
        return present((key, value) -> {
            String offence = Target.offence(value.toString());
            if (offence != null) {
                throw refusal(key, offence, "a date pattern of hours or more such as {yyyy.MM.dd}");
            }
        });
    }

    static Validator mappings() {
        return present((key, value) -> ((List<?>) value).forEach(mapping -> {
            if (!mapping.toString().matches("\\s*[^:\\s][^:]*:\\s*[^:\\s][^:]*")) {
                throw refusal(key, mapping.toString().isBlank() ? "nothing" : mapping, "topic:target");
            }
        }));
    }

    static Validator routing() {
        return present((key, value) -> {
            if (!value.toString().matches("|key|header:.+|/(?:[^~]|~[01])+")) {
                throw refusal(key, value, "key, header:NAME or a JSON pointer such as /shop/id");
            }
        });
    }

    /** The value may be a secret and is not repeated. */
    static Validator headers() {
        return present((key, value) -> {
            for (String header : ((Password) value).value().split(",")) {
                if (!header.matches("\\s*[!#$%&'*+.^_`|~0-9A-Za-z-]+\\s*:[^\r\n]*")) {
                    throw refusal(key, "something else", "Name:value, separated by commas");
                }
            }
        });
    }

    /** Whether a text is a bearer token of RFC 6750. */
    static boolean isToken(String text) {
        return text.matches("[A-Za-z0-9._~+/-]+=*");
    }

    /** The value is a secret and is not repeated. */
    static Validator token() {
        return present((key, value) -> {
            if (!isToken(((Password) value).value())) {
                throw refusal(key, "something else", "a token of letters, digits and -._~+/=");
            }
        });
    }

    static Validator tokenFile() {
        return present((key, value) -> {
            List<String> allowed =
                    Arrays.asList(System.getProperty(TOKEN_FILES, "").trim().split("\\s*,\\s*"));
            if (!allowed.contains(value.toString())) {
                throw refusal(
                        key, value, "a file that the worker allows; start it with -D" + TOKEN_FILES + "=" + value);
            }
        });
    }

    static Validator urls() {
        return present((key, value) -> {
            List<?> urls = (List<?>) value;
            if (urls.isEmpty()) {
                throw refusal(key, "nothing", "at least one URL such as http://localhost:9200");
            }
            urls.forEach(url -> NodeUrl.parse(key, url.toString()));
        });
    }

    /** A name or an address of a host, without a port. */
    static Validator hostName() {
        return present((key, value) -> {
            if (!value.toString().matches("[\\w.-]*|\\[?[0-9A-Fa-f:.]+]?")) {
                throw refusal(key, value, "a host's name or address alone");
            }
        });
    }

    static ConfigException refusal(String key, Object got, String expected) {
        return new ConfigException(key + ": got " + got + ", expected " + expected);
    }
}
