#!/bin/bash
# The service of the camera example: systemd reads the unit without a warning, and the program knows the options that the
# unit starts it with. Whether udev applies the rule is not tested.
# systemd_test.sh SOURCES CAMERA_LINUX
set -euo pipefail
unit=$1/packaging/systemd/ferry-camera.service program=$2
command -v systemd-analyze >/dev/null || { echo "skipped: systemd-analyze is not installed"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sed "s|^ExecStart=[^ ]*|ExecStart=$program|" "$unit" >"$scratch/ferry-camera.service"
said=$(systemd-analyze verify --man=no "$scratch/ferry-camera.service" 2>&1 | grep ferry-camera || true)
[ -z "$said" ] || { echo "$said"; exit 1; }

help=$("$program" --help)
command=$(sed -n 's/^ExecStart=[^ ]* //p' "$unit")
for option in $(grep -o -- '--[a-z-]*' <<<"$command"); do
  grep -qw -e "$option" <<<"$help" || { echo "camera-linux has no $option"; exit 1; }
done
case "$command" in *"--bind 127.0.0.1"*) ;; *) echo "the page leaves the machine: $command"; exit 1 ;; esac
rule=$(grep -o 'SYMLINK+="[^"]*"' "$1/packaging/systemd/70-ferry-camera.rules" | cut -d'"' -f2)
case "$command" in *"--device /dev/$rule "*) echo "starts on /dev/$rule" ;; *) echo "the rule names /dev/$rule: $command"; exit 1 ;; esac
