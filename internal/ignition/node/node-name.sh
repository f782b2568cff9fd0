#!/bin/sh
# The name of the node is that of the virtual machine: by it the cloud controller finds the machine, and its certificate is approved.
# Azure's metadata service says it. A machine that cannot ask is what its image calls it, unless every machine is called so.
set -eu
url="http://169.254.169.254/metadata/instance/compute/name?api-version=2021-02-01&format=text"

own_name() { [ ! -r /etc/hostname ] || sed -n '1s/[.[:space:]].*//; 1p' /etc/hostname; }

# A node's name is in lower case.
ask() {
	curl --silent --show-error --fail --noproxy '*' --connect-timeout 2 --max-time 5 --header "Metadata: true" "$url" | tr '[:upper:]' '[:lower:]'
}

usable() {
	case "$1" in '' | localhost | *[!a-z0-9.-]* | [.-]* | *[.-]) return 1 ;; esac
}

tries=0
until name=$(ask) && usable "$name"; do
	tries=$((tries + 1))
	name=$(own_name)
	if [ "$tries" -ge 5 ] && usable "$name"; then break; fi
	echo "node-name: waits for Azure's metadata service to tell the name of this machine" >&2
	sleep 2
done
if [ ! -r /etc/hostname ] || [ "$(cat /etc/hostname)" != "$name" ]; then
	echo "$name" >/etc/hostname.new
	mv /etc/hostname.new /etc/hostname
fi
if [ "$(cat /proc/sys/kernel/hostname)" != "$name" ]; then echo "$name" >/proc/sys/kernel/hostname; fi
