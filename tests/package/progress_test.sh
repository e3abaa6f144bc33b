#!/bin/bash
# scripts/lib/progress.sh shows a step's number, counter, estimate and log, and of a failure the first error and its status.
#     progress_test.sh SOURCE_FOLDER
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/script" <<END
set -euo pipefail
. "$1/scripts/lib/progress.sh"
trap progress_end EXIT
progress_begin "$work/logs" 4
shown() { for _ in {1..300}; do ! grep -q "\$1" "$work/out" || return 0; sleep 0.1; done; }  # a busy machine may be late
build() { for i in 10 20; do echo "[\$i/40] Building CXX object x.o"; shown "\$i of 40"; done; }
tests() { echo "[40/40] Linking"; echo " 3/80 Test  #7: ops/Resize ....   Passed    0.10 sec"; shown "3 of 80"; }
broken() {
  printf '%s\n' "[41/50] Building" "FAILED: CMakeFiles/x.dir/a.cc.o" "c++ -O2 a.cc" "a.cc:3:7: error: 'y' was not declared" "later"
  false
  echo "not reached: set -e holds inside of a step"
}
progress_step quick 0 "Say nothing" true
progress_step build 300 "Build it" build
progress_step tests 0 "Test it" tests
progress_step broken 0 "Break it" broken
echo "not reached: a step that fails ends the script"
END
status=0
PROGRESS_INTERVAL=1 bash "$work/script" >"$work/out" 2>&1 || status=$?
cat "$work/out"

expect() { grep -qE -- "$1" "$work/out" || { echo "expected a line with: $1"; exit 1; }; }
[ $status -eq 1 ] || { echo "expected the exit status of the step that failed, 1, got $status"; exit 1; }
expect '^\[1/4\] Say nothing: ok, [0-9]+ s$'
expect '^\[2/4\] Build it: [0-9]+ s, 10 of 40, about [0-9]:[0-9]+ min left; log: .*/logs/build\.log$'
expect '^\[2/4\] Build it: .*, 20 of 40, about .* left; log: '
expect '^\[3/4\] Test it: [0-9]+ s, 3 of 80; log: '
expect '^\[4/4\] Break it: FAILED after [0-9]+ s; log: .*/logs/broken\.log; the first error:$'
expect '^    FAILED: CMakeFiles/x\.dir/a\.cc\.o$'
expect "^    a\.cc:3:7: error: 'y' was not declared$"
if grep -q 'not reached\|c++ -O2' "$work/out"; then echo "a line is there that should not be"; exit 1; fi
! grep -q 'not reached' "$work/logs/broken.log" || { echo "a step went on after its error"; exit 1; }
