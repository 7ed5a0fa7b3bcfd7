#!/bin/sh
# Makes a folder with OpenSearch and its plugin ingestion-kafka, all from Maven Central; nothing is installed.
set -eu
folder=${1:?expected a folder}
version=${2:-3.8.0}
central=https://repo.maven.apache.org/maven2
home=$folder/opensearch-$version
plugin=$home/plugins/ingestion-kafka
mkdir -p "$folder"
[ -d "$home/lib" ] || {
    curl -fsSo "$folder/opensearch.zip" \
        "$central/org/opensearch/distribution/integ-test-zip/opensearch/$version/opensearch-$version.zip"
    python3 -m zipfile -e "$folder/opensearch.zip" "$folder"
    chmod +x "$home"/bin/*
    rm "$folder/opensearch.zip"
}
mkdir -p "$plugin"
# The plugin is published as a jar, not as the archive that `opensearch-plugin install` takes. Without lz4-java a topic
# that is compressed with lz4 ends ingestion for good.
for jar in org/opensearch/plugin/ingestion-kafka/"$version"/ingestion-kafka-"$version".jar \
    org/apache/kafka/kafka-clients/3.9.2/kafka-clients-3.9.2.jar org/slf4j/slf4j-api/1.7.36/slf4j-api-1.7.36.jar \
    org/lz4/lz4-java/1.8.0/lz4-java-1.8.0.jar; do
    curl -fsSo "$plugin/${jar##*/}" "$central/$jar"
done
cat > "$plugin/plugin-descriptor.properties" <<END
name=ingestion-kafka
description=Pull-based ingestion from Kafka
version=$version
opensearch.version=$version
java.version=21
classname=org.opensearch.plugin.kafka.KafkaPlugin
END
# What Kafka's consumer needs under OpenSearch's Java agent.
cat > "$plugin/plugin-security.policy" <<END
grant {
  permission java.net.SocketPermission "*", "connect,resolve";
  permission javax.management.MBeanServerPermission "createMBeanServer";
  permission javax.management.MBeanTrustPermission "register";
  permission javax.management.MBeanPermission "*", "*";
  permission java.lang.RuntimePermission "getClassLoader";
  permission java.lang.RuntimePermission "getenv.*";
  permission java.util.PropertyPermission "*", "read,write";
};
END
chmod -R a+rX "$folder"
echo "$home"
