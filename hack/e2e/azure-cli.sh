#!/usr/bin/env bash
# Debian's az logs in and lists the workers.
. "$(dirname "$0")/lib.sh"
export AZURE_CONFIG_DIR; AZURE_CONFIG_DIR=$(mktemp -d)
trap 'rm -rf "$AZURE_CONFIG_DIR"' EXIT
az login --service-principal -u "$AZURE_CLIENT_ID" -p "$AZURE_CLIENT_SECRET" -t "$AZURE_TENANT_ID" -o table
az vm list -o table
