#!/bin/sh
# Debian's busybox is built without wget's timeout, and crashes on -T: the program timeout does it.
limit='' left=$#
while [ "$left" -gt 0 ]; do
  argument=$1; shift; left=$((left - 1))
  case $argument in
    -T) limit=${1:-}; [ "$left" -eq 0 ] || { shift; left=$((left - 1)); } ;;
    -T*) limit=${argument#-T} ;;
    --timeout=*) limit=${argument#--timeout=} ;;
    *) set -- "$@" "$argument" ;;
  esac
done
[ -n "$limit" ] || exec busybox wget "$@"
timeout "$limit" busybox wget "$@"
status=$?
[ "$status" -ne 143 ] || { echo "wget: download timed out" >&2; status=1; }
exit "$status"
