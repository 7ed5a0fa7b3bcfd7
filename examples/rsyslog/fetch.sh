#!/bin/sh
# Unpacks Debian's packages of rsyslog into a folder; nothing is installed, and no service is started.
set -eu
folder=${1:?expected a folder}
mkdir -p "$folder/packages"
cd "$folder/packages"
apt-get download rsyslog rsyslog-kafka rsyslog-elasticsearch libestr0 libfastjson4 liblognorm5 librdkafka1
for package in *.deb; do dpkg -x "$package" ..; done
echo "export SLUICE_RSYSLOG=$folder"
