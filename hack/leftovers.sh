#!/bin/sh
# Prints, sorted, what a sandbox could leave behind on a machine: run it before "sandbox up" and after
# "sandbox down" and compare. Root sees everything.
set -u
export LC_ALL=C

# Programs of the sandbox, by name.
for comm in /proc/[0-9]*/comm; do
	{ read -r name <"$comm"; } 2>/dev/null || continue
	# What has ended and only waits for init to notice is no leftover.
	[ -n "$(tr -d '\0' <"${comm%comm}cmdline" 2>/dev/null)" ] || continue
	case $name in
	hypershift | kube | kubelet | kube-* | etcd | registry | containerd | containerd-shim* | runc | coredns | \
		local-path-prov* | azure-cloud-* | cluster-api* | control-plane-* | flanneld | konnectivity-*)
		echo "process $name" ;;
	esac
done | sort | uniq -c | sed 's/^ *//; s/\([0-9]*\) \(.*\)/\2 x\1/'

{
	awk '{ print "mount " $2 " " $3 }' /proc/self/mounts
	ip netns list 2>/dev/null | awk '{ print "netns " $1 }'
	ip -o link show | awk -F': ' '{ sub(/@.*/, "", $2); print "link " $2 }'
	ip -o addr show | awk '{ print "address " $2 " " $4 }'
	ip route show table all | awk '$1 ~ /^(198\.1[89]|10\.20[01])\./ { print "route " $1 " " $2 " " $3 }'
	find /sys/fs/cgroup -type d \( -name 'kubepods*' -o -name 'hs-*' -o -name 'cri-*' \) 2>/dev/null | sed 's/^/cgroup /'
	if command -v nft >/dev/null; then
		nft list tables 2>/dev/null | sed 's/^table/nftables/'
	fi
	for command in iptables ip6tables; do
		command -v $command-save >/dev/null || continue
		$command-save 2>/dev/null | awk -v c=$command '/^\*/ { table = substr($1, 2) } /^:(KUBE|CNI)-/ { print c " " table " " substr($1, 2) }'
	done
	for path in /run/hypershift-sandbox /run/containerd /run/netns /var/lib/cni /var/lib/kubelet /var/log/containers /var/log/pods /etc/cni; do
		if [ -e "$path" ]; then echo "path $path"; fi
	done
	for name in net/ipv4/ip_forward net/bridge/bridge-nf-call-iptables vm/overcommit_memory kernel/panic; do
		[ -r /proc/sys/$name ] && echo "sysctl $name $(cat /proc/sys/$name)"
	done
} | sort -u
