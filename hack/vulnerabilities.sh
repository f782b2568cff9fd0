#!/usr/bin/env bash
# Known vulnerabilities of the modules and of Go that the programs can reach, by govulncheck. The database is https://vuln.go.dev, or
# GOVULNDB: another address, or file:///FOLDER with the files of https://vuln.go.dev/vulndb.zip. Where it cannot be read nothing was
# looked for, and the script fails.
. "$(dirname "$0")/lib.sh"
need_go
database=${GOVULNDB:-https://vuln.go.dev}
case "$database" in
  file://*) [ -f "${database#file://}/index/db.json" ] ||
    fail "GOVULNDB=$database: there is no index/db.json in that folder, so nothing was checked; unpack https://vuln.go.dev/vulndb.zip into it" ;;
esac
status=0
go tool -modfile=hack/tools/go.mod govulncheck -db "$database" ./cmd/... || status=$?
case "$status" in
  0) ;;
  3) fail "the programs reach known vulnerabilities, listed above; update the modules or Go" ;;
  *) fail "govulncheck could not look (status $status), so nothing is known; without a way to $database set GOVULNDB=file:///FOLDER with a copy of the database" ;;
esac
