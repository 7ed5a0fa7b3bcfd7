#!/bin/bash
# Starts Elasticsearch with the settings that the environment holds, as the official image's entry point does.
#
# The server in here has few modules. A setting of one that it lacks would keep it from starting: it is left out, and said.
set -euo pipefail
umask 0002
home=/usr/share/elasticsearch

# The module that a setting belongs to; nothing for the server's own.
module_of() {
    case $1 in
        xpack.ml.enabled | xpack.license.* | xpack.http.*) echo x-pack-core ;;
        xpack.*) echo "$1" | sed 's/^xpack\./x-pack-/; s/\..*//' ;;
        ingest.*) echo "$1" | sed 's/^ingest\./ingest-/; s/\..*//; s/_/-/' ;;
        script.painless.*) echo lang-painless ;;
        reindex.*) echo reindex ;;
        repositories.url.*) echo repository-url ;;
    esac
}

# A setting's name, of a variable's: `discovery.type` as it is, ES_SETTING_DISCOVERY_TYPE translated; nothing for any other variable.
setting_of() {
    if [[ $1 == ES_SETTING_* ]]; then
        sed 's/^ES_SETTING_//; s/__/\x01/g; s/_/./g; s/\x01/_/g' <<<"$1" | tr '[:upper:]' '[:lower:]'
    elif [[ $1 =~ ^[a-z0-9_]+(\.[a-z0-9_*-]+)+$ ]]; then
        echo "$1"
    fi
}

if [[ $1 != eswrapper ]]; then
    exec "$@"
fi

settings=() left_out=()
while IFS= read -r -d '' variable; do
    name=$(setting_of "${variable%%=*}")
    # A setting without a value is none, as in the official image.
    [[ -n $name && -n ${variable#*=} ]] || continue
    module=$(module_of "$name")
    if [[ -n $module && ! -d $home/modules/$module ]]; then
        left_out+=("$name")
    else
        settings+=("-E$name=${variable#*=}")
    fi
done < <(env -0)
if ((${#left_out[@]})); then
    echo "stand-in for Elasticsearch's image: left out, for want of their modules: ${left_out[*]}"
fi

# Secrets may stand in files: Elastic's own script reads them, and refuses files that others may read.
set +u
source "$home/bin/elasticsearch-env-from-file"
set -u
if [[ -n ${ELASTIC_PASSWORD:-} && -d $home/modules/x-pack-security ]]; then
    [[ -f $home/config/elasticsearch.keystore ]] || elasticsearch-keystore create --silent
    if ! elasticsearch-keystore list | grep --quiet '^bootstrap.password$'; then
        elasticsearch-keystore add --stdin bootstrap.password <<<"$ELASTIC_PASSWORD"
    fi
fi
if [[ -s /usr/local/lib/file_limit.so ]]; then
    export LD_PRELOAD=/usr/local/lib/file_limit.so
fi
exec "$home/bin/elasticsearch" "${settings[@]}"
