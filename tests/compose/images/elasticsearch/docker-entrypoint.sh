#!/bin/bash
# In place of the official image's entry point, which is on no registry of packages, and in its order
# (elastic/dockerfiles, elasticsearch/bin/docker-entrypoint.sh, v8.19.10 and v9.2.4). It reads no setting: bin/elasticsearch
# does that, as in the official image, by Elastic's own scripts and classes.
set -e
umask 0002

if [[ $1 != eswrapper && $(basename "$1") != elasticsearch ]]; then
    exec "$@"
fi
shift

# Secrets may stand in files; Elastic's script refuses files that others may read.
source /usr/share/elasticsearch/bin/elasticsearch-env-from-file

if [[ -f bin/elasticsearch-users && -n $ELASTIC_PASSWORD ]]; then
    [[ -f config/elasticsearch.keystore ]] || elasticsearch-keystore create
    if ! elasticsearch-keystore list | grep -q '^bootstrap.password$'; then
        elasticsearch-keystore add -x bootstrap.password <<<"$ELASTIC_PASSWORD"
    fi
fi

# What no official image does: settings of modules that the server in here lacks, declared in absent_modules, are taken out
# of the environment. They would keep this server from starting, and no other.
without=()
while read -r module settings; do
    [[ ! -d modules/$module ]] || continue
    while IFS= read -r -d '' variable; do
        name=${variable%%=*}
        [[ ! $name =~ ^$settings$ ]] || without+=("--unset=$name")
    done < <(env -0)
done </usr/local/bin/absent_modules
if ((${#without[@]})); then
    echo "stand-in for Elasticsearch's image: left out, for want of their modules: ${without[*]#--unset=}"
fi
if [[ -s /usr/local/lib/file_limit.so ]]; then
    export LD_PRELOAD=/usr/local/lib/file_limit.so
fi
exec env "${without[@]}" /usr/share/elasticsearch/bin/elasticsearch "$@" <<<"$KEYSTORE_PASSWORD"
