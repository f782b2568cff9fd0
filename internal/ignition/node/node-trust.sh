#!/bin/sh
# Makes every program of this machine trust the additional authorities of the hosted cluster, whatever its operating system keeps them in.
set -eu
bundle=/etc/kubernetes/trust/bundle.pem
# where programs look, by operating system: Debian and Flatcar, Fedora and RHEL, SUSE, Alpine
stores="/etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem"

# split DIRECTORY SUFFIX: one file for each certificate, which is what the tools want
split() {
	rm -f "$1"/hypershift-*."$2"
	number=0
	inside=
	while IFS= read -r line || [ -n "$line" ]; do
		case "$line" in *"BEGIN CERTIFICATE"*)
			number=$((number + 1))
			inside=yes
			;;
		esac
		[ -z "$inside" ] || printf '%s\n' "$line" >>"$1/hypershift-$number.$2"
		case "$line" in *"END CERTIFICATE"*) inside= ;; esac
	done <"$bundle"
	[ "$number" -gt 0 ] || { echo "node-trust: the additional trust bundle has no certificate" >&2; exit 1; }
}

# has STORE: whether it has every certificate; the second line of each tells them apart well enough
has() {
	grep -A 3 "BEGIN CERTIFICATE" "$bundle" | grep -v -e CERTIFICATE -e '^--' | while IFS= read -r line; do
		grep -q -F -x -- "$line" "$1" || exit 1
	done
}

if command -v update-ca-trust >/dev/null; then
	mkdir -p /etc/pki/ca-trust/source/anchors
	split /etc/pki/ca-trust/source/anchors crt
	update-ca-trust extract
else
	mkdir -p /etc/ssl/certs
	split /etc/ssl/certs pem
	if command -v update-ca-certificates >/dev/null; then update-ca-certificates >/dev/null; fi
fi

# A tool may take only what lies elsewhere, or be absent: what is missing in the end is appended. A store may be a link to a file of the
# image, which is read-only; it becomes a file.
found=
for store in $stores; do
	[ -e "$store" ] || continue
	found=yes
	if ! has "$store"; then
		cat "$store" "$bundle" >"$store.new"
		chmod 0644 "$store.new"
		mv "$store.new" "$store"
	fi
done
if [ -z "$found" ]; then
	mkdir -p /etc/ssl/certs
	cp "$bundle" /etc/ssl/certs/ca-certificates.crt
fi
