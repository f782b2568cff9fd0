#!/bin/sh
# Starts the kubelet under the name and the address of this machine.
set -eu
name=$(cat /proc/sys/kernel/hostname)
name=${name%%.*}
address=$(ip -4 route get 168.63.129.16 | sed -n 's/.* src \([0-9.]*\).*/\1/p' | head -n 1)
[ -n "$address" ] || { echo "kubelet-start: this machine has no IPv4 address with a route" >&2; exit 1; }
exec /opt/bin/kubelet \
	--config=/etc/kubernetes/kubelet.conf \
	--bootstrap-kubeconfig=/etc/kubernetes/kubeconfig \
	--kubeconfig=/var/lib/kubelet/kubeconfig \
	--cert-dir=/var/lib/kubelet/pki \
	--cloud-provider=external \
	--hostname-override="$name" \
	--node-ip="$address" \
	--node-labels="$NODE_LABELS" \
	--v=2
