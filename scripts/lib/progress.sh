# Shows where a long script is: the step, its number of all, the elapsed and the estimated time, and the log.
# Source it; scripts/demo, scripts/check, scripts/package and scripts/build-device do.
#
#     progress_begin LOGS STEPS                  the folder for logs, and how many steps will follow
#     progress_step NAME SECONDS TITLE COMMAND   runs COMMAND (a program or a function), its output in LOGS/NAME.log
#     progress_end                               for the script's EXIT trap: ends the line of an interrupted step
#
# In a terminal one line is rewritten every second; elsewhere a line is printed every PROGRESS_INTERVAL seconds (30).
# The estimate comes from the newest [done/total] of ninja or done/total of ctest in the log. Before there is one, it
# comes from SECONDS: the step's time on two cores with empty caches, 0 if unknown. progress_step returns COMMAND's exit
# status; if that is not 0, it prints the log's first error. Call it plainly: in a condition, as `progress_step ... ||`,
# bash ignores `set -e` inside of COMMAND.

progress_begin() {  # LOGS STEPS
  progress_logs=$1 progress_steps=$2 progress_number=0 progress_printer=""
  mkdir -p "$progress_logs"
  trap 'exit 130' INT  # so that the EXIT trap sees that the script was interrupted
}

progress_time() {  # SECONDS -> 45 s, 2:05
  if (($1 < 60)); then echo "$1 s"; else printf '%d:%02d min' $(($1 / 60)) $(($1 % 60)); fi
}

# "DONE TOTAL" of the newest counter in a log, or nothing. The end of a log is enough: tools print their counter often.
progress_counter() {  # LOG
  tail -c 20000 "$1" 2>/dev/null | tr '\r' '\n' |
    sed -nE -e 's/^\[([0-9]+)\/([0-9]+)\].*/\1 \2/p' -e 's/^ *([0-9]+)\/([0-9]+) Test +#.*/\1 \2/p' | tail -n 1
}

# Prints the line of a running step until the script ends or progress_stop ends it.
progress_print() {  # HEAD LOG SECONDS
  local begin=$SECONDS next=0 interval=${PROGRESS_INTERVAL:-30} done total text left
  local seen=-1 first=0 since=0  # the last count; where the running counter started, and when
  local columns=100
  [ ! -t 1 ] || { interval=1 columns=$(tput cols 2>/dev/null || echo 100); }
  next=$interval
  while kill -0 $$ 2>/dev/null; do
    sleep 1 >/dev/null
    local elapsed=$((SECONDS - begin))
    read -r done total <<<"$(progress_counter "$2")" || true
    text="" left=$(($3 - elapsed))
    if [ -n "$total" ]; then
      # A second tool in the same log counts from the beginning again.
      ((seen >= 0 && done >= seen)) || first=$done since=$elapsed
      seen=$done
      text=", $done of $total"
      ((done == first)) || left=$(((elapsed - since) * (total - done) / (done - first)))
    fi
    ((elapsed >= next)) || continue
    next=$((elapsed + interval))
    ((left <= 0)) || text+=", about $(progress_time $left) left"
    text="$1: $(progress_time $elapsed)$text; log: $2"
    if [ -t 1 ]; then printf '\r\033[K%s' "${text:0:columns-1}"; else echo "$text"; fi
  done
}

progress_stop() {
  [ -n "${progress_printer:-}" ] || return 0
  kill "$progress_printer" 2>/dev/null || true
  wait "$progress_printer" 2>/dev/null || true
  progress_printer=""
  [ ! -t 1 ] || printf '\r\033[K'
}

progress_end() { progress_stop; }

# The first error in a log, with the target or the test that it belongs to, in at most 16 lines; else the log's end. Then
# ctest's count and its list of failed tests. Every filter reads to the end: one that stops early would end the script by
# SIGPIPE.
progress_first_error() {  # LOG
  tr '\r' '\n' <"$1" | awk '
    !error && /^FAILED: |\*\*\*(Failed|Timeout|Exception|Not Run)/ { context = $0 }
    !error && (/(^|[ :])(fatal )?error: |: Failure$|^CMake Error|undefined reference to|^E: |npm (ERR!|error)/ ||
      /: command not found|: No such file or directory|^clang-format|AddressSanitizer|: runtime error: |not formatted/) {
      error = NR
      if (context != "") print context
    }
    error && /^ *[0-9]+\/[0-9]+ Test +#|^\[[0-9]+\/[0-9]+\]|tests passed,/ { past = 1 }  # the next test or target
    error && !past && NR < error + 15 { print }
    { last[NR % 15] = $0 }
    END {
      if (error) exit
      for (i = NR - 14; i <= NR; ++i) if (i > 0) print last[i % 15]
    }' | cut -c 1-240 | sed 's/^/    /'
  sed -n -e '/^[0-9]*% tests passed,/p' -e '/^The following tests FAILED:/,/^$/p' "$1" | awk 'NR <= 40'
}

progress_step() {  # NAME SECONDS TITLE COMMAND...
  local log=$progress_logs/$1.log head begin=$SECONDS status=0 options=$-
  ((++progress_number))
  head="[$progress_number/$progress_steps] $3"
  [ -t 1 ] || echo "$head; log: $log"
  : >"$log"
  progress_print "$head" "$log" "$2" &
  progress_printer=$!
  # Not `COMMAND || status=$?`: that would switch `set -e` off inside of a function.
  set +e
  (set -e; "${@:4}") >>"$log" 2>&1
  status=$?
  [[ $options != *e* ]] || set -e
  progress_stop
  if [ $status -eq 0 ]; then
    echo "$head: ok, $(progress_time $((SECONDS - begin)))"
  else
    echo "$head: FAILED after $(progress_time $((SECONDS - begin))); log: $log; the first error:"
    progress_first_error "$log"
  fi
  return $status
}
