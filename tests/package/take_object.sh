#!/bin/bash
# A compiler launcher. If the source does not mention one of WORDS (an expression; the caller checks the headers), its
# object is
# the same as in another build of this tree, and copied from there.
# take_object.sh BUILD WORDS COMPILER ... -o OBJECT ... -c SOURCE
set -euo pipefail
build=$1 words=$2
shift 2
arguments=("$@")
object=
for ((i = 0; i + 1 < $#; ++i)); do
  [ "${arguments[i]}" != -o ] || object=${arguments[i + 1]}
done
source=${!#}
sources=("$source")
same=true
if [[ $source == */[Uu]nity/* ]]; then # of several, which must be the same ones there; unity: ferry_together()'s
  there=$build/${object%.o}
  [[ $source != */unity/* ]] || there=$build/unity/${source##*/}
  cmp -s "$source" "$there" || same=false
  mapfile -t -O 1 sources < <(sed -n 's/^#include "\(.*\)"$/\1/p' "$source")
fi
if $same && [ -f "$build/$object" ] && ! grep -qwE "$words" "${sources[@]}"; then
  exec cp "$build/$object" "$object"
fi
exec "$@"
