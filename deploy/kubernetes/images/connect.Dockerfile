# Strimzi's Kafka image with our sink among its plugins: docs/kubernetes.md says how it is built.
ARG STRIMZI=quay.io/strimzi/kafka:1.2.0-kafka-4.3.1
ARG MAVEN=maven:3.9-eclipse-temurin-17

FROM ${MAVEN} AS plugin
WORKDIR /build
COPY connect/pom.xml ./
COPY connect/src ./src
# The second folder holds the connector that drops everything, for the profile sink/empty.
RUN mvn -B -q package -Dmaven.test.skip=true && mv target/plugin /plugins && mv target/lab-plugin/* /plugins/

FROM ${STRIMZI}
USER root:root
COPY --from=plugin /plugins /opt/kafka/plugins
USER 1001
