#!/bin/sh
# node-update: makes this machine what its node pool asks for now. It fetches the files of the pool's configuration, writes those that
# differ, removes those that the former configuration wrote and this one has not, and starts again what the configuration starts. Nothing
# runs here meanwhile that the control plane could move to another node. What a run leaves undone the next one does.
# Standard input has what only root may read: settings of curl, with the token, and then the certificate of the server's authority.
set -eu
root=${NODE_ROOT:-}
record=/etc/kubernetes/in-place
work=$root/run/hypershift/node-update
tree=$work/tree

fail() {
	echo "node-update: $1" >&2
	exit 1
}

say() { echo "node-update: $1"; }

# put PATH: what the configuration has there is there, by a rename: nobody sees half of it
put() {
	if [ -d "$tree$1" ] && [ ! -L "$tree$1" ]; then
		mkdir -p "$root$1"
		chown --reference="$tree$1" "$root$1"
		chmod --reference="$tree$1" "$root$1"
		return 0
	fi
	if [ -L "$tree$1" ]; then
		if [ -L "$root$1" ] && [ "$(readlink "$root$1")" = "$(readlink "$tree$1")" ]; then return 0; fi
	elif [ -f "$root$1" ] && [ ! -L "$root$1" ] && cmp -s "$tree$1" "$root$1" && [ "$(stat -c '%a %u %g' "$tree$1")" = "$(stat -c '%a %u %g' "$root$1")" ]; then
		return 0
	fi
	mkdir -p "$(dirname "$root$1")"
	rm -rf "$root$1.node-update"
	cp -a "$tree$1" "$root$1.node-update"
	mv -f -T "$root$1.node-update" "$root$1"
	if command -v restorecon >/dev/null; then restorecon "$root$1" || true; fi
	say "wrote $1"
}

# drop PATH: of the former configuration; a unit ends before its file goes
drop() {
	if [ -d "$root$1" ] && [ ! -L "$root$1" ]; then
		# it stays where something else is in it
		rmdir "$root$1" 2>/dev/null || true
		return 0
	fi
	unit=${1#/etc/systemd/system/}
	case "$unit" in
	*/*) ;;
	*) if [ -f "$root$1" ] && [ ! -L "$root$1" ]; then systemctl disable --now "$unit" || true; fi ;;
	esac
	rm -f "$root$1"
	say "removed $1"
}

# named VERB: the units of which the configuration says so
named() { sed -n "s/^$1 //p" "$root$record/units"; }

# restart UNIT...: all at once, so that systemd keeps their order
restart() {
	[ $# -gt 0 ] || return 0
	say "starts again $*"
	timeout 900 systemctl restart "$@" || fail "of $* not everything starts; journalctl on this machine says why"
}

healthy() { curl --silent --fail --noproxy '*' --max-time 5 --output /dev/null http://127.0.0.1:10248/healthz; }

[ -e "$root$record/fixed" ] || fail "this machine was not made to be updated in place: it has no $record/fixed; delete its Machine, another one takes its place"
rm -rf "$work"
mkdir -p "$tree"
chmod 0700 "$work"
cat >"$work/settings"
sed '/^-----BEGIN/,$d' "$work/settings" >"$work/curl.conf"
sed -n '/^-----BEGIN/,$p' "$work/settings" >"$work/ca.crt"
if [ -e "$root/etc/kubernetes/proxy.env" ]; then set -a; . "$root/etc/kubernetes/proxy.env"; set +a; fi
curl --config "$work/curl.conf" --cacert "$work/ca.crt" --silent --show-error --fail --retry 5 --max-time 120 --output "$work/files.tar" ||
	fail "the files of the configuration cannot be fetched from the ignition server; see the line above"
tar -x -p -f "$work/files.tar" -C "$tree"
for name in paths units fixed; do
	[ -s "$tree$record/$name" ] || fail "the configuration that the ignition server sent has no $record/$name"
done
cmp -s "$root$record/fixed" "$tree$record/fixed" ||
	fail "the configuration changes what a machine gets at its first boot only: users, disks, file systems, kernel arguments, or files that are not wholly in it; take the change back, or delete the Machine: another one takes its place"

while read -r path; do
	case "$path" in "$record"/*) ;; *) put "$path" ;; esac
done <"$tree$record/paths"
while read -r path; do
	if ! grep -F -x -q -e "$path" "$tree$record/paths"; then drop "$path"; fi
done <"$root$record/paths"
for name in units paths; do put "$record/$name"; done

systemctl daemon-reload
# one that this operating system does not have is not loaded
for unit in $(named disable) $(named mask); do systemctl stop "$unit" 2>/dev/null || true; done
for unit in $(named disable); do systemctl disable "$unit"; done
for unit in $(named enable); do systemctl enable "$unit"; done
systemctl try-restart systemd-sysctl.service || true
# What takes its time comes before the kubelet, which runs meanwhile.
first='^(node-trust|containerd|[a-z]+-fetch)\.service$'
# names of units have nothing that a shell would take apart
# shellcheck disable=SC2046
restart $(named enable | grep -E "$first")
# shellcheck disable=SC2046
restart $(named enable | grep -E -v "$first")
tries=0
until healthy; do
	tries=$((tries + 1))
	[ "$tries" -lt "${HEALTH_TRIES:-120}" ] || fail "the kubelet does not run with the configuration: $(journalctl --unit=kubelet.service --lines=1 --output=cat --no-pager)"
	sleep 2
done
# Since when the kubelet runs, for who looks whether the node has said anything since.
date -d "$(systemctl show --property=ExecMainStartTimestamp --value kubelet.service)" +%s >"$root/run/hypershift/kubelet-since"
rm -rf "$work"
say "done"
