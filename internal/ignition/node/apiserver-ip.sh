#!/bin/sh
# The address under which pods of this node reach the API server: the proxy listens on it.
set -eu
ip address replace "@ADDRESS@/32" dev lo
