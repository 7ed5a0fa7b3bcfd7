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
        xpack.* | cluster.deprecation_indexing.*) echo x-pack-core ;;
        ingest.geoip.* | ingest.user_agent.*) echo "ingest-${1#ingest.}" | sed 's/_/-/; s/\..*//' ;;
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
if [[ -n ${ELASTIC_PASSWORD:-} && ! -d $home/modules/x-pack-security ]]; then
    left_out+=(ELASTIC_PASSWORD)
fi
if ((${#left_out[@]})); then
    echo "stand-in for Elasticsearch's image: left out, for want of their modules: ${left_out[*]}"
fi
exec "$home/bin/elasticsearch" "${settings[@]}"
