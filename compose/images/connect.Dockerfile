# A Kafka Connect worker with one sink plugin, and the agent that makes its JMX metrics readable over HTTP.
ARG KAFKA=apache/kafka:4.4.0
ARG MAVEN=maven:3.9-eclipse-temurin-17
ARG SINK=sluice

FROM ${MAVEN} AS agent
ARG JOLOKIA_VERSION=2.6.0
ARG JOLOKIA_SHA256=95c2c1230970ac0ad71b9cb556b8a55c4c6008e9ffd7745be7797f477120b6ae
RUN mvn -B -q -C org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
        -Dartifact=org.jolokia:jolokia-agent-jvm:${JOLOKIA_VERSION}:jar:javaagent -DoutputDirectory=/agent \
        -Dmdep.stripVersion=true \
    && echo "${JOLOKIA_SHA256}  /agent/jolokia-agent-jvm-javaagent.jar" | sha256sum --check --quiet

FROM ${MAVEN} AS plugin-sluice
WORKDIR /build
COPY connect/pom.xml ./
COPY connect/src ./src
# The second folder holds the connector that drops everything, for EXPERIMENT=sink/empty.
RUN mvn -B -q -C package -Dmaven.test.skip=true && mv target/plugin /plugins && mv target/lab-plugin/* /plugins/

FROM ${MAVEN} AS plugin-confluent
ARG CONFLUENT_SINK_VERSION
# Version and checksum, of compose/images.lock.env; an archive of another version is taken as it comes.
ARG CONFLUENT_SINK_LOCKED
ADD https://hub-downloads.confluent.io/api/plugins/confluentinc/kafka-connect-elasticsearch/versions/${CONFLUENT_SINK_VERSION}/confluentinc-kafka-connect-elasticsearch-${CONFLUENT_SINK_VERSION}.zip /sink.zip
RUN case "${CONFLUENT_SINK_LOCKED}" in \
        "${CONFLUENT_SINK_VERSION}@sha256:"*) echo "${CONFLUENT_SINK_LOCKED##*:}  /sink.zip" | sha256sum --check --quiet ;; \
    esac && mkdir /plugins && cd /plugins && jar --extract --file /sink.zip

FROM plugin-${SINK} AS plugin

# The worker's user can read all of it, whatever the umask that the checkout was made with.
FROM ${MAVEN} AS files
COPY --from=agent /agent/jolokia-agent-jvm-javaagent.jar /sluice/jolokia.jar
COPY --from=plugin /plugins /sluice/plugins
COPY compose/images/connect.sh /sluice/connect.sh
COPY connect/etc/jolokia.properties connect/etc/jolokia-access.xml /sluice/
COPY compose/health /sluice/health
# A Windows checkout of before .gitattributes may have kept its line ends.
RUN sed -i 's/\r$//' /sluice/connect.sh /sluice/health/*.sh /sluice/jolokia-access.xml /sluice/jolokia.properties && chmod -R a+rX /sluice

FROM ${KAFKA}
COPY --from=files /sluice /opt/sluice
EXPOSE 8083 8778
CMD ["bash", "/opt/sluice/connect.sh"]
