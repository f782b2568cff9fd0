#!/bin/sh
# payload-fetch kubelet|node: takes what the node needs out of the images of the release payload, by digest.
# The credentials stand in files that only root reads; no command line carries them.
set -eu
. /etc/kubernetes/payload-images.env
# the node's proxy, when it has one
if [ -e /etc/kubernetes/proxy.env ]; then set -a; . /etc/kubernetes/proxy.env; set +a; fi
ctr="ctr --namespace k8s.io"

wait_for_containerd() {
	tries=0
	until $ctr version >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -le 600 ] || { echo "payload-fetch: containerd did not answer within a minute" >&2; return 1; }
		sleep 0.1
	done
}

# candidates IMAGE: the names of its mirrors, and its own at last
candidates() {
	if [ -e /etc/kubernetes/payload-mirrors ]; then
		while read -r image mirror; do
			if [ "$image" = "$1" ]; then echo "$mirror"; fi
		done </etc/kubernetes/payload-mirrors
	fi
	echo "$1"
}

# pull_from NAME IMAGE: the image is known by its own name whichever mirror it comes from
pull_from() {
	/usr/local/bin/registry-hosts "$1" "$directory" || return 1
	$ctr images pull --hosts-dir "$directory" "$1" >/dev/null || return 1
	if [ "$1" != "$2" ]; then $ctr images tag --force "$1" "$2" >/dev/null || return 1; fi
}

# pull IMAGE: each attempt looks the credentials up anew, a token does not live long
pull() {
	directory=$(mktemp -d /run/registry-hosts.XXXXXX)
	while :; do
		for name in $(candidates "$1"); do
			if pull_from "$name" "$1"; then
				rm -rf "$directory"
				return
			fi
		done
		echo "payload-fetch: cannot pull $1, trying again; check registry, proxy and the pull secret of the hosted cluster" >&2
		sleep 2
	done
}

# unpack IMAGE NAME COPY: mounts the image and runs COPY with the mounted root as its argument
unpack() {
	root=/run/payload/$2
	mkdir -p "$root"
	$ctr images mount "$1" "$root" >/dev/null
	$3 "$root"
	$ctr images unmount --rm "$root" >/dev/null
}

# a running binary cannot be overwritten, a rename can replace it
install_file() {
	mkdir -p "$(dirname "$2")"
	cp "$1" "$2.new"
	chmod 0755 "$2.new"
	mv "$2.new" "$2"
}

copy_kubelet() {
	for candidate in bin/kubelet usr/bin/kubelet bin/hyperkube usr/bin/hyperkube; do
		if [ -e "$1/$candidate" ]; then
			install_file "$1/$candidate" /opt/bin/kubelet
			return
		fi
	done
	echo "payload-fetch: no kubelet in the image $HYPERKUBE_IMAGE" >&2
	return 1
}

copy_plugins() {
	for plugin in "$1"/cni/* "$1"/usr/src/plugins/bin/*; do
		if [ -f "$plugin" ]; then install_file "$plugin" "/opt/cni/bin/$(basename "$plugin")"; fi
	done
}

# runtime_setting PATTERN: the value the operating system's container runtime has for a setting, by its file or by its default
runtime_setting() {
	for source in dump default; do
		value=$(containerd config "$source" 2>/dev/null | sed -n "s/^ *$1 = [\"']\(.*\)[\"'] *$/\1/p" | head -n 1)
		if [ -n "$value" ]; then
			echo "$value"
			return
		fi
	done
}

# the runtime of the operating system may look for plugins elsewhere
link_plugins() {
	configured=$(runtime_setting bin_dir)
	if [ -z "$configured" ] || [ "$configured" = /opt/cni/bin ]; then return 0; fi
	mkdir -p "$configured"
	for plugin in /opt/cni/bin/* /opt/cni/bin/flannel; do
		ln -sf "$plugin" "$configured/$(basename "$plugin")"
	done
}

# The runtime pulls the sandbox image itself, without the kubelet's credentials and under the name its own configuration has.
alias_sandbox() {
	configured=$(runtime_setting sandbox_image)
	[ -n "$configured" ] || configured=$(runtime_setting sandbox)
	if [ -n "$configured" ] && [ "$configured" != "$POD_IMAGE" ]; then
		$ctr images tag --force "$POD_IMAGE" "$configured" >/dev/null
		$ctr images label "$configured" io.cri-containerd.pinned=pinned >/dev/null
	fi
	$ctr images label "$POD_IMAGE" io.cri-containerd.pinned=pinned >/dev/null
}

# A reboot needs nothing from the registry when the same payload is in place.
done_mark=/var/lib/payload-fetch/$1
if [ -e "$done_mark" ] && cmp -s "$done_mark" /etc/kubernetes/payload-images.env; then exit 0; fi

wait_for_containerd
case "$1" in
kubelet)
	pull "$POD_IMAGE" &
	sandbox=$!
	pull "$HYPERKUBE_IMAGE"
	unpack "$HYPERKUBE_IMAGE" hyperkube copy_kubelet
	wait "$sandbox"
	alias_sandbox
	;;
node)
	pull "$APISERVER_PROXY_IMAGE" &
	proxy=$!
	if [ -n "$CNI_PLUGINS_IMAGE" ]; then
		pull "$CNI_PLUGINS_IMAGE"
		unpack "$CNI_PLUGINS_IMAGE" cni-plugins copy_plugins
	fi
	link_plugins
	wait "$proxy"
	;;
*)
	echo "payload-fetch: unknown part $1" >&2
	exit 2
	;;
esac
mkdir -p "$(dirname "$done_mark")"
cp /etc/kubernetes/payload-images.env "$done_mark"
