#!/bin/sh
# Tells the ignition server how far this machine is and why it is no node yet, until it is one: nobody else can say it before the kubelet
# runs.
set -eu
report=/etc/kubernetes/report
if [ -e /etc/kubernetes/proxy.env ]; then set -a; . /etc/kubernetes/proxy.env; set +a; fi
pause=${REPORT_PAUSE:-15}

# How Azure calls the machine, whatever it calls itself: its pool knows it by that name.
azure_name() {
	curl --silent --fail --noproxy '*' --connect-timeout 2 --max-time 5 --header "Metadata: true" \
		"http://169.254.169.254/metadata/instance/compute/name?api-version=2021-02-01&format=text" | tr '[:upper:]' '[:lower:]'
}

property() { systemctl show --property="$2" --value "$1.service"; }

# shortened: a long line without its middle. It begins with what was tried, and ends with why that failed.
shortened() { sed -E 's/^(.{130}).+(.{270})$/\1 ... \2/'; }

# last SELECTION PATTERN: the last line of this part of the journal that matches
last() { journalctl "$1" --boot --lines=200 --output=cat --no-pager 2>/dev/null | grep -E -e "$2" | tail -n 1 | shortened; }

# said UNIT PATTERN: the last words of its programs; where they said nothing, those of systemd about it
said() {
	words=$(last "_SYSTEMD_UNIT=$1.service" "$2")
	[ -n "$words" ] || words=$(last "--unit=$1.service" "$2")
	printf '%s\n' "$words"
}

healthy() { curl --silent --fail --noproxy '*' --max-time 5 --output /dev/null http://127.0.0.1:10248/healthz; }

# how far the machine is; a kubelet that runs without a certificate has asked for one
stage() {
	if [ -e /var/lib/kubelet/pki/kubelet-client-current.pem ]; then
		echo CertificateApproved
	elif healthy; then
		echo CertificateAsked
	elif [ "$(property kubelet ActiveState)" = active ]; then
		echo KubeletStarted
	else
		echo Booted
	fi
}

# a unit that is there, and neither did its work nor runs
troubles() {
	own=$(cat /etc/hostname)
	if [ "$own" != "$name" ]; then
		echo "this machine calls itself \"$own\", and Azure \"$name\": it gets no certificate; node-name.service is what sets the name"
	fi
	for unit in node-trust node-name node-network apiserver-ip containerd kubelet-fetch node-fetch; do
		[ "$(property "$unit" LoadState)" = loaded ] || continue
		state=$(property "$unit" ActiveState)
		[ "$state" != active ] || continue
		echo "$unit.service is $state ($(property "$unit" SubState), $(property "$unit" Result)): $(said "$unit" .)"
	done
	if ! healthy; then
		echo "kubelet.service is $(property kubelet ActiveState) ($(property kubelet SubState), $(property kubelet Result)): $(said kubelet .)"
	elif [ -z "$(ls /etc/cni/net.d 2>/dev/null)" ]; then
		echo "the kubelet runs, and /etc/cni/net.d has no network: $(said kubelet '^(E[0-9]|.* E[0-9])')"
	fi
}

# tell STAGE TEXT: the token is in the file, no command line carries it
tell() {
	printf '%s' "$2" | curl --config "$report/curl.conf" --cacert "$report/ca.crt" --silent --show-error --fail --max-time 20 --output /dev/null \
		--header "Machine: $name" --header "Stage: $1" --data-binary @-
}

name=$(azure_name)
[ -n "$name" ] || name=$(cat /etc/hostname)
told=
far=
rounds=0
# A token lives for hours: who reads it then knows without this machine.
while [ "$rounds" -lt 240 ]; do
	rounds=$((rounds + 1))
	sleep "$pause"
	now=$(troubles | head -c 1900)
	# A node says nothing of itself, and takes back what it said.
	at=
	if [ -n "$now" ]; then at=$(stage); fi
	if [ "$now" != "$told" ] || [ "$at" != "$far" ]; then
		if tell "$at" "$now"; then told=$now far=$at; else continue; fi
	fi
	if [ -z "$now" ]; then exit 0; fi
done
