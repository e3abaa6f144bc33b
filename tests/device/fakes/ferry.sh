#!/bin/sh
# Simulates `ferry` on a device. A test's copy sets `mode` to the fault.
mode=works

command=$1
case "$*" in *"--backend gpu"*) backend=gpu ;; *) backend=cpu ;; esac

refuse() { echo "ferry $command: $1" >&2; exit 2; }

verify() {  # passed, error, stage
  cat <<END
{"model": "fake", "backend": "$backend", "passed": $1, "stages": 7, "graph": "", "stage": "$3", "error": $2,
 "bound": 1e-4, "error_at_conversion": 1e-6, "fixture": "fake", "library": "timm 1.0", "milliseconds": 1}
END
  [ "$1" = true ]
  exit
}

outputs() {  # so many float32 values, as octal escapes: a safetensors file
  header="{\"logits\": {\"dtype\": \"F32\", \"shape\": [$1], \"data_offsets\": [0, $((4 * $1))]}}"
  printf "\\$(printf %o ${#header})\\0\\0\\0\\0\\0\\0\\0%s$2" "$header" >outputs.safetensors
  echo "outputs.safetensors: 1 tensors"
  echo '{"image": "photo", "classes": [{"index": 2, "label": "cat", "probability": 0.5}]}'
}
one='\0\0\200\077' two='\0\0\0\100' three='\0\0\100\100' three_and_half='\0\0\140\100' not_a_number='\0\0\300\177'

case "$command:$mode" in
  --version:*) echo "ferry 0.0-fake" ;;
  devices:has_gpu) echo '{"devices": [{"name": "Fake GPU", "driver": "fake 1", "problem": ""}]}' ;;
  devices:*) echo '{"devices": []}' ;;
  verify:out_of_bounds) verify false 0.25 block.3 ;;
  verify:not_a_number) verify false null block.3 ;;
  verify:refuses) refuse "model.ferry: damaged: its checksum does not fit" ;;
  verify:crashes) kill -SEGV $$ ;;
  verify:illegal) kill -ILL $$ ;;
  verify:*) verify true 2e-6 features ;;
  run:full_while_running) refuse "outputs.safetensors: No space left on device" ;;
  run:other_answer) outputs 3 "$one$two$three_and_half" ;;
  run:nan_answer) outputs 3 "$one$not_a_number$three" ;;
  run:short_answer) outputs 2 "$one$two" ;;
  run:*) outputs 3 "$one$two$three" ;;
  bench:hangs) exec sleep 100 ;;
  bench:*)
    kernels="fake dotprod" fingerprint=0123456789abcdef device=
    [ $backend = cpu ] || kernels='' fingerprint='' device="Fake GPU"
    cat <<END
{"kernels": "$kernels", "fingerprint": "$fingerprint", "device": "$device", "median_ms": 12.5,
 "peak_rss_bytes": 25000000}
END
    ;;
esac
