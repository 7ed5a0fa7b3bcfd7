import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Collections;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Prints the index settings that a server registers, a line each: key, then its properties.
 *
 * <p>Arguments: the root package of the server, then the jars of its modules. The server's own settings are
 * {@code IndexScopedSettings.BUILT_IN_INDEX_SETTINGS}; a module's are the static fields of its classes. {@code
 * IndexMetadata} holds some of the lifecycle, which a module registers that this build may lack.
 */
public class IndexSettings {
    private static final String CLASS = ".class";

    public static void main(String[] arguments) throws Exception {
        String root = arguments[0] + ".common.";
        try {
            Class.forName(root + "logging.LogConfigurator").getMethod("configureESLogging").invoke(null);
        } catch (ReflectiveOperationException absent) {
            // Only Elasticsearch 8 and later log through an interface of their own.
        }
        Class<?> builtIn = Class.forName(root + "settings.IndexScopedSettings");
        for (Object setting : (Set<?>) builtIn.getField("BUILT_IN_INDEX_SETTINGS").get(null)) {
            print(setting);
        }
        Class<?> type = Class.forName(root + "settings.Setting");
        printFields(arguments[0] + ".cluster.metadata.IndexMetadata", type, "index.lifecycle.");
        for (int at = 1; at < arguments.length; at++) {
            try (JarFile jar = new JarFile(arguments[at])) {
                for (JarEntry entry : Collections.list(jar.entries())) {
                    if (entry.getName().endsWith(CLASS)) {
                        String file = entry.getName();
                        printFields(file.substring(0, file.length() - CLASS.length()).replace('/', '.'), type, "index.");
                    }
                }
            }
        }
    }

    private static void printFields(String name, Class<?> type, String prefix) {
        try {
            for (Field field : Class.forName(name, false, IndexSettings.class.getClassLoader()).getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) && field.getType() == type) {
                    field.setAccessible(true);
                    Object setting = field.get(null);
                    if (keyOf(setting).startsWith(prefix)) {
                        print(setting);
                    }
                }
            }
        } catch (ReflectiveOperationException | LinkageError unusable) {
            // A class for another Java, or one that needs a library which the distribution lacks.
        }
    }

    private static void print(Object setting) throws ReflectiveOperationException {
        System.out.println(
                keyOf(setting) + "\t" + setting.getClass().getMethod("getProperties").invoke(setting));
    }

    private static String keyOf(Object setting) throws ReflectiveOperationException {
        return (String) setting.getClass().getMethod("getKey").invoke(setting);
    }
}
