#!/bin/sh
# payload-fetch kubelet|node: takes what the node needs out of the images of the release payload, by digest.
# payload-fetch sandbox: fetches the sandbox image again if it is gone.
# Each part is tried until it is there, and what is there is not fetched again. The journal says what is waited for.
# The credentials stand in files that only root reads; no command line carries them.
set -eu
. /etc/kubernetes/payload-images.env
# the node's proxy, when it has one
if [ -e /etc/kubernetes/proxy.env ]; then set -a; . /etc/kubernetes/proxy.env; set +a; fi
ctr="ctr --namespace k8s.io"
longest_pause=${LONGEST_PAUSE:-30}

# attempt WHAT HINT COMMAND...: until the command succeeds, each time after a longer pause
attempt() {
	what=$1 hint=$2
	shift 2
	pause=1
	until said=$("$@" 2>&1); do
		echo "payload-fetch: waits for $what: $(printf '%s\n' "$said" | tail -n 1); $hint; next attempt in $pause s" >&2
		sleep "$pause"
		pause=$((pause * 2))
		[ "$pause" -le "$longest_pause" ] || pause=$longest_pause
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

# pull_from NAME IMAGE DIRECTORY: the image is known by its own name whichever mirror it comes from. A transfer that hangs is given up;
# the runtime goes on where it ended.
pull_from() {
	/opt/hypershift/bin/registry-hosts "$1" "$3" || return 1
	timeout 600 $ctr images pull --hosts-dir "$3" "$1" >/dev/null || return 1
	if [ "$1" != "$2" ]; then $ctr images tag --force "$1" "$2" >/dev/null || return 1; fi
}

# pull_any IMAGE DIRECTORY: each attempt looks the credentials up anew, a token does not live long
pull_any() {
	for name in $(candidates "$1"); do
		if pull_from "$name" "$1" "$2"; then return 0; fi
	done
	return 1
}

pull() {
	directory=$(mktemp -d /run/registry-hosts.XXXXXX)
	attempt "image $1" "check registry, proxy, trust and the pull secret of the hosted cluster" pull_any "$1" "$directory"
	rm -rf "$directory"
}

# unpack_once IMAGE NAME COPY: mounts the image and runs COPY with the mounted root as its argument
unpack_once() {
	root=/run/payload/$2
	mkdir -p "$root"
	# what an attempt before this one left
	$ctr images unmount --rm "$root" >/dev/null 2>&1 || true
	$ctr images mount "$1" "$root" >/dev/null || return 1
	copied=0
	$3 "$root" || copied=$?
	$ctr images unmount --rm "$root" >/dev/null || return 1
	return "$copied"
}

unpack() { attempt "the files of image $1" "check the disk of the machine and the image" unpack_once "$@"; }

# a running binary cannot be overwritten, a rename can replace it
install_file() {
	mkdir -p "$(dirname "$2")" && cp "$1" "$2.new" && chmod 0755 "$2.new" && mv "$2.new" "$2"
}

copy_kubelet() {
	for candidate in bin/kubelet usr/bin/kubelet bin/hyperkube usr/bin/hyperkube; do
		[ -e "$1/$candidate" ] || continue
		# under its name: a program of many names knows by it what it is
		install_file "$1/$candidate" /opt/bin/.fetched/kubelet || return 1
		# what does not run here is of another architecture, or cut short
		/opt/bin/.fetched/kubelet --version >/dev/null || return 1
		mv /opt/bin/.fetched/kubelet /opt/bin/kubelet
		return
	done
	echo "payload-fetch: no kubelet in the image $HYPERKUBE_IMAGE" >&2
	return 1
}

copy_plugins() {
	for plugin in "$1"/cni/* "$1"/usr/src/plugins/bin/*; do
		if [ -f "$plugin" ]; then install_file "$plugin" "/opt/cni/bin/$(basename "$plugin")" || return 1; fi
	done
	# the labels that an operating system with SELinux gives programs below /opt
	if command -v restorecon >/dev/null; then restorecon -R /opt/cni || true; fi
}

# The runtime starts pods from the sandbox image, which it could not fetch itself, without the kubelet's credentials: it stays.
keep_sandbox() { $ctr images label "$POD_IMAGE" io.cri-containerd.pinned=pinned; }

# A runtime before containerd 1.7 does not tell the kubelet that an image stays: with a full disk it is collected like any other.
if [ "$1" = sandbox ]; then
	if $ctr images ls -q | grep -q -F -x -- "$POD_IMAGE"; then exit 0; fi
	echo "payload-fetch: the sandbox image is gone; it is fetched again" >&2
	pull "$POD_IMAGE"
	attempt "the sandbox image" "check containerd.service" keep_sandbox
	exit 0
fi

# A reboot needs nothing from the registry when the same payload is in place.
done_mark=/var/lib/payload-fetch/$1
wanted=$(cat /etc/kubernetes/payload-images.env)
if [ -e "$done_mark" ] && [ "$(cat "$done_mark")" = "$wanted" ]; then exit 0; fi

attempt "containerd" "containerd.service brings it" $ctr version
case "$1" in
kubelet)
	pull "$POD_IMAGE" &
	sandbox=$!
	pull "$HYPERKUBE_IMAGE"
	unpack "$HYPERKUBE_IMAGE" hyperkube copy_kubelet
	wait "$sandbox"
	attempt "the sandbox image" "check containerd.service" keep_sandbox
	;;
node)
	pull "$APISERVER_PROXY_IMAGE" &
	proxy=$!
	if [ -n "$CNI_PLUGINS_IMAGE" ]; then
		pull "$CNI_PLUGINS_IMAGE"
		unpack "$CNI_PLUGINS_IMAGE" cni-plugins copy_plugins
	fi
	wait "$proxy"
	# What a node waits for until it is Ready: the kubelet would fetch it beside everything else. It still does when this fails.
	for image in ${FIRST_IMAGES:-}; do
		directory=$(mktemp -d /run/registry-hosts.XXXXXX)
		pull_any "$image" "$directory" >/dev/null 2>&1 || echo "payload-fetch: image $image is left to the kubelet" >&2
		rm -rf "$directory"
	done
	;;
*)
	echo "payload-fetch: unknown part $1" >&2
	exit 2
	;;
esac
mkdir -p "$(dirname "$done_mark")"
printf '%s\n' "$wanted" >"$done_mark"
