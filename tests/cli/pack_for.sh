#!/bin/bash
# `ferry pack --for` on the host writes the same as `ferry pack` on the emulated CPU.
# pack_for.sh HOST_FERRY BLOB_FOLDER FERRY EMULATOR...
set -euo pipefail
host=$1 blobs=$2 ferry=$3
shift 3
cpu=${QEMU_CPU:-max}
blob=$blobs/timm_mobilenetv2_100.ferry
[ -x "$host" ] && [ -f "$blob" ] || { echo "skipped: no $host, or no $blob"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$@" "$ferry" pack "$blob" -o "$folder/there.packed"
"$host" pack "$blob" --for "arm64-$cpu" --tool "$ferry" -o "$folder/for.packed"
cmp "$folder/there.packed" "$folder/for.packed"
"$host" pack "$blob" --for "this,arm64-$cpu" --tool "$ferry" --embed -o "$folder/both.ferry"
"$host" inspect "$folder/both.ferry" | grep -A1 '^packed  *for this,' | grep "for arm64-$cpu,"
mkdir "$folder/cache"
"$host" pack "$blob" --for "arm64-$cpu" --tool "$ferry" -o "$folder/cache" | grep "$folder/cache/"
[ "$(ls "$folder/cache" | wc -l)" = 1 ]
# A failure keeps the existing file.
if "$host" pack "$blob" --for "arm64-$cpu" --tool /bin/false -o "$folder/for.packed"; then exit 1; fi
cmp "$folder/there.packed" "$folder/for.packed"
[ "$(ls "$folder" | wc -l)" = 4 ] || { echo "more than the files asked for:"; ls "$folder"; exit 1; }
