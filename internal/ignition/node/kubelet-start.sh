#!/bin/sh
# Starts the kubelet with what only this machine knows: its name, its address, its resolvers and its size.
set -eu
kubelet=/opt/bin/kubelet
config=/etc/kubernetes/kubelet.conf
machine=/run/hypershift/kubelet.conf.d

fail() {
	echo "kubelet-start: $1" >&2
	exit 1
}

# resolvers FILE: it has some, and all answer pods, too; the loopback addresses of a stub are the machine's own
resolvers() {
	[ -r "$1" ] || return 1
	addresses=$(sed -n 's/^nameserver[[:space:]]*//p' "$1")
	[ -n "$addresses" ] && ! printf '%s\n' "$addresses" | grep -E -q '^(127\.|::1)'
}

# setting NAME: whether the configuration of the node pool has it
setting() { grep -q "^  \"$1\":" "$config"; }

resolv_conf() {
	for file in /etc/resolv.conf /run/systemd/resolve/resolv.conf; do
		if resolvers "$file"; then
			echo "$file"
			return
		fi
	done
	fail "neither /etc/resolv.conf nor /run/systemd/resolve/resolv.conf has only name servers that pods can reach; a stub on a loopback address answers the machine alone"
}

# share AMOUNT FROM TO PER_MILLE: the share of what AMOUNT has between FROM and TO
share() {
	upper=$1
	[ "$upper" -le "$3" ] || upper=$3
	[ "$upper" -gt "$2" ] || { echo 0; return; }
	echo $(((upper - $2) * $4 / 1000))
}

# The reservations of Google's Kubernetes Engine by size, which OpenShift's automatic sizing has, too:
# https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes
reserved_memory() {
	mebibytes=$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo) / 1024))
	[ "$mebibytes" -ge 1024 ] || { echo 255; return; }
	echo $(($(share "$mebibytes" 0 4096 250) + $(share "$mebibytes" 4096 8192 200) + $(share "$mebibytes" 8192 16384 100) +
		$(share "$mebibytes" 16384 131072 60) + $(share "$mebibytes" 131072 1000000000 20)))
}

reserved_cpu() {
	milli=$(($(nproc) * 1000))
	echo $(($(share "$milli" 0 1000 60) + $(share "$milli" 1000 2000 10) + $(share "$milli" 2000 4000 5) +
		$(share "$milli" 4000 1000000000 5) / 2))
}

# machine_config: what the node pool leaves to the machine
machine_config() {
	printf '{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"'
	if setting resolvConf; then
		file=$(sed -n 's/^  "resolvConf": "\(.*\)",\{0,1\}$/\1/p' "$config")
		# empty: pods get none of the machine's
		[ -z "$file" ] || resolvers "$file" || fail "$file, which the node pool names as resolvConf, has not only name servers that pods can reach"
	else
		file=$(resolv_conf)
		printf ',\n  "resolvConf": "%s"' "$file"
	fi
	if ! setting systemReserved; then
		printf ',\n  "systemReserved": {"cpu": "%sm", "memory": "%sMi", "ephemeral-storage": "1Gi"}' "$(reserved_cpu)" "$(reserved_memory)"
	fi
	printf '\n}\n'
}

[ -x "$kubelet" ] || fail "$kubelet is not there yet; kubelet-fetch.service brings it"
# Both have to leave the cgroups to systemd: a pod would start under one and be looked for under the other.
if grep -q '^  "cgroupDriver": "systemd"' "$config" && ! containerd --config /etc/containerd/config.toml config dump | grep -q 'SystemdCgroup = true'; then
	fail "containerd does not leave cgroups to systemd, as the kubelet does; set SystemdCgroup = true in /etc/containerd/config.toml, or leave that file to the node pool"
fi
[ "$(cat /proc/sys/net/ipv4/ip_forward)" = 1 ] || fail "the kernel does not forward packets; node-network.service sees to it"
name=$(cat /etc/hostname)
case "$name" in '' | localhost*) fail "this machine is called \"$name\", which is no name of a node; node-name.service sets it" ;; esac
address=$(ip -4 route get 168.63.129.16 | sed -n 's/.* src \([0-9.]*\).*/\1/p' | head -n 1)
[ -n "$address" ] || fail "this machine has no IPv4 address with a route"
mkdir -p "$machine"
machine_config >"$machine/50-machine.conf"
exec "$kubelet" \
	--config="$config" \
	--config-dir="$machine" \
	--bootstrap-kubeconfig=/etc/kubernetes/kubeconfig \
	--kubeconfig=/var/lib/kubelet/kubeconfig \
	--cert-dir=/var/lib/kubelet/pki \
	--cloud-provider=external \
	--runtime-cgroups=/system.slice/containerd.service \
	--hostname-override="$name" \
	--node-ip="$address" \
	--node-labels="$NODE_LABELS" \
	--v=2
