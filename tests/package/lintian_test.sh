#!/bin/bash
# lintian finds no error and no warning in the Debian packages, without an override.
# lintian_test.sh PACKAGES
set -euo pipefail
command -v lintian >/dev/null || { echo "skipped: lintian is not installed (scripts/setup lintian)"; exit 77; }
ls "$1"/*.deb >/dev/null || { echo "skipped: package/archives made no packages"; exit 77; }
lintian --allow-root --no-override --fail-on error,warning "$1"/*.deb
