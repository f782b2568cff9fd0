# shellcheck shell=bash
# Shared by the scripts of this folder: where things are, and how they speak.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/bin:$PATH"

STARTED=$(date +%s.%N)

# seconds since the script began
elapsed() { awk -v a="$STARTED" -v b="$(date +%s.%N)" 'BEGIN{printf "%.1f", b-a}'; }
# say a step, with the time
step() { printf '\n\033[1m[%7ss] %s\033[0m\n' "$(elapsed)" "$*"; }
# show a command as a person would type it, then run it
show() { printf '  \033[36m$ %s\033[0m\n' "$*"; "$@"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

need_go() {
  command -v go >/dev/null || fail "Go is not installed; install Go 1.26 or newer from https://go.dev/dl and put it on PATH"
  local have; have=$(go env GOVERSION)
  case "$have" in
    go1.2[6-9]*|go1.[3-9][0-9]*|go[2-9]*) ;;
    *) fail "Go is $have, and 1.26 or newer is needed; install it from https://go.dev/dl" ;;
  esac
}
# need_package PROGRAM PACKAGE: a program of Debian's, which is installed where that is possible.
need_package() {
  if command -v "$1" >/dev/null; then return; fi
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then fail "$1 is not installed; install it, on Debian with: apt-get install $2"; fi
  step "$1, from Debian's packages"
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$2"; } >/dev/null ||
    fail "$1 could not be installed; look at what apt-get install $2 says"
}
# What the scripts of test/e2e type beside our own program: an unmodified client of Azure, and a client of its wire.
need_az() {
  need_package az azure-cli
  need_package curl curl
  need_package openssl openssl
}
need_linux_root() {
  [ "$(uname -s)" = Linux ] || fail "the sandbox needs Linux; this is $(uname -s). Use a Linux machine or virtual machine"
  [ "$(id -u)" = 0 ] || fail "the sandbox needs root for network namespaces and containers; run it with sudo. Without root only \`hypershift sandbox up --azure-only\` works"
}
