#!/usr/bin/env bash
# Takes the sandbox and everything in it away. The build cache stays.
. "$(dirname "$0")/lib.sh"
need_linux_root
[ -x bin/hypershift ] || { need_go; make --no-print-directory build-cli; }
exec hypershift sandbox down --purge
