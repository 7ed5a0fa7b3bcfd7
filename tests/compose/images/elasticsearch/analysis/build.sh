#!/bin/bash
# Builds the module that stands in for analysis-common; only a server with security needs it.
set -eu
cd /usr/share/elasticsearch
if [[ ! -d modules/x-pack-security ]]; then
    exit 0
fi
version=$(basename lib/elasticsearch-[0-9]*.jar .jar)
module=modules/analysis-stand-in
mkdir "$module"
classes=$(mktemp --directory)
"/opt/java/openjdk/bin/javac" -nowarn -proc:none -cp 'lib/*' -d "$classes" "$1/StandInAnalysis.java"
"/opt/java/openjdk/bin/jar" --create --file "$module/analysis-stand-in.jar" -C "$classes" .
rm -r "$classes"
cat >"$module/plugin-descriptor.properties" <<DESCRIPTOR
name=analysis-stand-in
description=Names of analysis-common that the security index asks for
classname=io.sluice.standin.StandInAnalysis
version=${version#elasticsearch-}
elasticsearch.version=${version#elasticsearch-}
java.version=1.8
DESCRIPTOR
