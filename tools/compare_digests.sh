#!/usr/bin/env bash
# One scenario, every binary named, both engine twins, with and without jumps: one digest, or exit 1.
#   tools/compare_digests.sh build/release/ridgeline build/asan/ridgeline build/clang/ridgeline
set -euo pipefail
(( $# > 0 )) || { printf 'usage: %s BINARY...\n' "$0" >&2; exit 2; }

readonly scenario=(run --model llama-3.1-8b --gpu h100 --request-rate 8 --num-prompts 1000
                   --input-len 512 --output-len 256 --seed 1 --format json)
first=''
status=0
for binary in "$@"; do
  for variant in '--engine-core fast' '--no-jump' '--engine-core reference'; do
    # shellcheck disable=SC2086 # a flag and its value are two words
    digest=$("$binary" "${scenario[@]}" $variant | grep -o '"digest": *"[^"]*"' | cut -d '"' -f 4)
    printf '%-32s %-24s %s\n' "$binary" "$variant" "${digest:-none}"
    first=${first:-$digest}
    if [[ -z $digest || $digest != "$first" ]]; then
      status=1
    fi
  done
done
(( status == 0 )) || printf 'the digests differ\n' >&2
exit "$status"
