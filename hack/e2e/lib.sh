# Shared by the scripts that test a sandbox with the demo's hosted cluster in it.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. hack/demo-lib.sh
# The scripts look at Azure's wire themselves.
command -v curl >/dev/null || apt-get install -y -q curl >/dev/null || fail "curl is missing; apt-get install curl"
enter_sandbox
ISSUER_URL=$(tail -n 1 "$WORK/issuer-url")

# until_ok SECONDS COMMAND...: repeats the command until it succeeds.
until_ok() {
  local deadline=$((SECONDS + $1)); shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || { "$@" || true; fail "did not succeed in time: $*"; }
    sleep 0.5
  done
}
