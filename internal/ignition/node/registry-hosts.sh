#!/bin/sh
# registry-hosts IMAGE DIRECTORY: writes DIRECTORY/REGISTRY/hosts.toml, with which containerd's client may pull the image.
# A registry takes the credentials themselves (Basic) or a token that its token service gives for them (Bearer): its challenge tells.
# Credentials go through pipes and files that only root reads; no command line carries them.
set -eu
umask 077
image=$1
out=$2
auth=${REGISTRY_AUTH_DIR:-/etc/kubernetes/registry-auth}
trust=/etc/kubernetes/trust/bundle.pem

name=${image%@*}
registry=${name%%/*}
repository=${name#*/}
case "${repository##*/}" in *:*) repository=${repository%:*} ;; esac

# the entry for the repository, else for the nearest path above it, else for the registry
credentials() {
	prefix=$registry/$repository
	while [ ! -s "$auth/$prefix/basic" ]; do
		case "$prefix" in */*) prefix=${prefix%/*} ;; *) return 0 ;; esac
	done
	cat "$auth/$prefix/basic"
}

field() { printf '%s\n' "$challenge" | sed -n "s/.*$1=\"\([^\"]*\)\".*/\1/p"; }

get_token() {
	realm=$(field realm)
	case "$realm" in
	https://*) ;;
	*)
		echo "registry-hosts: $registry wants a token from \"$realm\", which is not https; the credentials stay here" >&2
		return 1
		;;
	esac
	{ [ -z "$basic" ] || printf 'header = "Authorization: Basic %s"\n' "$basic"; } |
		curl --config - --silent --show-error --fail --max-time 30 --get --data-urlencode "service=$(field service)" \
			--data-urlencode "scope=repository:$repository:pull" "$realm" |
		tr -d '\n' | sed -n -E 's/.*"(access_)?token" *: *"([^"]*)".*/\2/p'
}

basic=$(credentials)
header=
[ -z "$basic" ] || header="Basic $basic"
# A registry that cannot be asked is taken for one of the simple kind; the next attempt asks again.
if command -v curl >/dev/null; then
	answer=$(curl --silent --show-error --max-time 10 --output /dev/null --dump-header - "https://$registry/v2/") || answer=
	challenge=$(printf '%s\n' "$answer" | tr -d '\r' | sed -n 's/^[Ww][Ww][Ww]-[Aa]uthenticate: *[Bb]earer //p' | head -n 1)
	if [ -n "$challenge" ]; then
		token=$(get_token)
		[ -n "$token" ] || { echo "registry-hosts: the token service of $registry gave no token for $repository" >&2; exit 1; }
		header="Bearer $token"
	fi
fi

mkdir -p "$out/$registry"
{
	printf 'server = "https://%s"\n\n[host."https://%s"]\n  capabilities = ["pull", "resolve"]\n' "$registry" "$registry"
	# beside those of the system
	[ ! -e "$trust" ] || printf '  ca = "%s"\n' "$trust"
	[ -z "$header" ] || printf '  [host."https://%s".header]\n    Authorization = "%s"\n' "$registry" "$header"
} >"$out/$registry/hosts.toml"
