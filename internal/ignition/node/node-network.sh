#!/bin/sh
# Kernel settings of a Kubernetes node. Filtering of bridged packets is a module that some kernels have built in; forwarding is a must.
set -eu
modprobe overlay 2>/dev/null || true
modprobe br_netfilter 2>/dev/null || true
for setting in net/ipv4/ip_forward net/bridge/bridge-nf-call-iptables net/bridge/bridge-nf-call-ip6tables; do
	if [ -w "/proc/sys/$setting" ]; then echo 1 >"/proc/sys/$setting" || true; fi
done
[ "$(cat /proc/sys/net/ipv4/ip_forward)" = 1 ] || { echo "node-network: the kernel does not forward packets, and net.ipv4.ip_forward cannot be set" >&2; exit 1; }
