# A Kafka Connect worker with one sink plugin, and the agent that makes its JMX metrics readable over HTTP.
ARG KAFKA=apache/kafka:4.3.1
ARG MAVEN=maven:3.9-eclipse-temurin-17
ARG SINK=sluice

FROM ${MAVEN} AS agent
ARG JOLOKIA_VERSION=2.6.0
RUN mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
        -Dartifact=org.jolokia:jolokia-agent-jvm:${JOLOKIA_VERSION}:jar:javaagent -DoutputDirectory=/agent \
        -Dmdep.stripVersion=true

FROM ${MAVEN} AS plugin-sluice
WORKDIR /build
COPY connect/pom.xml ./
COPY connect/src ./src
# The second folder holds the connector that drops everything, for EXPERIMENT=sink/empty.
RUN mvn -B -q package -Dmaven.test.skip=true && mv target/plugin /plugins && mv target/lab-plugin/* /plugins/

FROM ${MAVEN} AS plugin-confluent
ARG CONFLUENT_SINK_VERSION
ADD https://hub-downloads.confluent.io/api/plugins/confluentinc/kafka-connect-elasticsearch/versions/${CONFLUENT_SINK_VERSION}/confluentinc-kafka-connect-elasticsearch-${CONFLUENT_SINK_VERSION}.zip /sink.zip
RUN mkdir /plugins && cd /plugins && jar --extract --file /sink.zip

FROM plugin-${SINK} AS plugin

FROM ${KAFKA}
COPY --from=agent /agent/jolokia-agent-jvm-javaagent.jar /opt/sluice/jolokia.jar
COPY --from=plugin /plugins /opt/sluice/plugins
COPY compose/images/connect.sh /opt/sluice/connect.sh
COPY compose/health /opt/sluice/health
EXPOSE 8083 8778
CMD ["bash", "/opt/sluice/connect.sh"]
