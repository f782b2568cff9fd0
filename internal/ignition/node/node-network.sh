#!/bin/sh
# Kernel settings of a Kubernetes node; each may be absent from a kernel or read-only in its container.
set -eu
modprobe br_netfilter 2>/dev/null || true
for setting in net/ipv4/ip_forward net/bridge/bridge-nf-call-iptables net/bridge/bridge-nf-call-ip6tables; do
	if [ -w "/proc/sys/$setting" ]; then echo 1 >"/proc/sys/$setting" || true; fi
done
