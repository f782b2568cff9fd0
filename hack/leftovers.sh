#!/bin/sh
# Prints, sorted, what a sandbox could leave behind on a machine: run it before "sandbox up" and after
# "sandbox down" and compare. Root sees everything.
set -u
export LC_ALL=C

# Programs of the sandbox by the name of their file, and whatever runs in a pod or a virtual machine.
for proc in /proc/[0-9]*; do
	exe=$(readlink "$proc/exe" 2>/dev/null) || continue
	exe=${exe% (deleted)}
	case ${exe##*/} in
	hypershift | hypershift-operator | control-plane-operator | kube | kubelet | kube-* | etcd | registry | containerd | \
		containerd-shim* | runc | coredns | local-path-provisioner | azure-cloud-* | cluster-api* | flanneld | proxy-server | \
		proxy-agent | haproxy | pause)
		echo "process ${exe##*/}" ;;
	*)
		if grep -qE '/(kubepods|hs-|cri-)' "$proc/cgroup" 2>/dev/null; then echo "process ${exe##*/}"; fi ;;
	esac
done | sort | uniq -c | sed 's/^ *//; s/\([0-9]*\) \(.*\)/\2 x\1/'

# Rules name what they are for, or the sandbox's addresses and links.
ours='KUBE-|CNI-|hypershift|198\.1[89]\.|10\.20[01]\.|"?hs(edge|pods|u[0-9])'

{
	awk '{ print "mount " $2 " " $3 }' /proc/self/mounts
	cat /sys/block/loop*/loop/backing_file 2>/dev/null | sed 's/^/loop device of /'
	ip netns list 2>/dev/null | awk '{ print "netns " $1 }'
	ip -o link show | awk -F': ' '{ sub(/@.*/, "", $2); print "link " $2 }'
	ip -o addr show | awk '{ print "address " $2 " " $4 }'
	ip route show table all | awk '/198\.1[89]\.|10\.20[01]\./ { print "route " $1 " " $2 " " $3 }'
	ip rule show | sed 's/^/rule /'
	find /sys/fs/cgroup -type d \( -name 'kubepods*' -o -name 'hs-*' -o -name 'cri-*' \) 2>/dev/null | sed 's/^/cgroup /'
	if command -v nft >/dev/null; then
		nft list ruleset 2>/dev/null | awk '/^table/ { table = $2 " " $3; print "nftables " table } $1 == "chain" { print "nftables " table " " $2 }'
		nft list ruleset 2>/dev/null | grep -E "$ours" | sed 's/^[[:space:]]*/nftables rule /; s/packets [0-9]* bytes [0-9]*//'
	fi
	for command in iptables ip6tables; do
		command -v $command-save >/dev/null || continue
		$command-save 2>/dev/null | awk -v c=$command '/^\*/ { table = substr($1, 2) } /^:(KUBE|CNI)-/ { print c " " table " " substr($1, 2) }'
		$command-save 2>/dev/null | grep -E "^-A.*($ours)" | sed "s/^/$command rule /"
	done
	# Files: what runs keeps its own below these, so the names are enough.
	for path in /run /var/lib/cni /etc/cni /opt/cni /var/lib/kubelet /var/log/pods /var/log/containers /etc/containerd; do
		find "$path" -maxdepth 1 2>/dev/null | sed 's/^/path /'
	done
	find /run/containerd /run/hypershift-sandbox /var/lib/cni -mindepth 1 -maxdepth 3 2>/dev/null | sed 's/^/path /'
	for name in net/ipv4/ip_forward net/ipv4/conf/all/rp_filter net/bridge/bridge-nf-call-iptables fs/inotify/max_user_instances \
		fs/inotify/max_user_watches vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops; do
		if [ -r /proc/sys/$name ]; then echo "sysctl $name $(cat /proc/sys/$name)"; fi
	done
} | sort -u
