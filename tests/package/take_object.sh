#!/bin/bash
# A compiler's launcher: an object that is the same with the GPU backend and without, since no source in it mentions
# FERRY_GPU (nor does any header: gpu_off_test.sh looks), is copied from another build of this tree.
#     take_object.sh BUILD COMPILER ... -o OBJECT ... -c SOURCE
set -euo pipefail
build=$1
shift
arguments=("$@")
object=
for ((i = 0; i + 1 < $#; ++i)); do
  [ "${arguments[i]}" != -o ] || object=${arguments[i + 1]}
done
source=${!#}
sources=("$source")
same=true
if [[ $source == */Unity/* ]]; then # of several, which must be the same ones there
  cmp -s "$source" "$build/${object%.o}" || same=false
  mapfile -t -O 1 sources < <(sed -n 's/^#include "\(.*\)"$/\1/p' "$source")
fi
if $same && [ -f "$build/$object" ] && ! grep -qw FERRY_GPU "${sources[@]}"; then
  exec cp "$build/$object" "$object"
fi
exec "$@"
