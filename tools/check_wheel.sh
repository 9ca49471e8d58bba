#!/usr/bin/env bash
# Installs the wheel into fresh environments, without a network, and tries it as a stranger would: the example of
# README.md, the program, the tests; with Debian's own Python also types and notebooks.
#
#   tools/check_wheel.sh [PYTHON...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly root=$PWD
readonly out=$PWD/out/python
readonly own=/usr/bin/python3
readonly readme_digest=cad010207051a08fa060fc174de1bd21
readonly wheel=("$out"/*.whl)

fail() {
  printf 'check_wheel: %s\n' "$*" >&2
  exit 1
}

# An environment with the wheel alone, or, of Debian's own Python, with Debian's packages beside it.
environment() {
  local python=$1 folder=$2
  shift 2
  "$python" -m venv "$@" "$folder"
  "$folder/bin/python" -m pip --disable-pip-version-check install --quiet --no-index --no-deps "${wheel[0]}"
}

# The example of README.md, from the page itself.
readme_example() {
  sed -n '/^```python$/,/^```$/p' "$root/README.md" | sed '/^```/d'
}

unset RIDGELINE_LIBRARY RIDGELINE_BINARY PYTHONPATH
export PYTHONDONTWRITEBYTECODE=1
pythons=("$@")
(( ${#pythons[@]} )) || pythons=("$own")
for python in "${pythons[@]}"; do
  folder=$out/venv-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  environment "$python" "$folder"
  (cd "$out" && "$folder/bin/ridgeline" version >/dev/null) || fail "the program of $folder"
  (cd "$out" && "$folder/bin/python" -W ignore -c '
import ridgeline as rl
r = rl.run(model="llama-3.1-8b", gpu="h100", request_rate=8, num_prompts=1000, input_len=512, output_len=256, seed=1,
           slo_ttft="50ms", slo_tpot="10ms")
assert r.digest == "'"$readme_digest"'", r.digest') || fail "the digest in $folder"
  printf '%s: %s\n' "$("$folder/bin/python" --version)" "digest as the program has it"
done

environment "$own" "$out/venv" --system-site-packages
readonly python=$out/venv/bin/python
(cd "$out" && readme_example | "$python" -W ignore -) || fail "the example of README.md"
"$python" -m pytest -q -p no:cacheprovider python/tests
(cd python && "$python" -m mypy --cache-dir "$out/mypy" ridgeline tests)
revealed=$(cd python && "$python" -m mypy --cache-dir "$out/mypy" -c \
  'import ridgeline as rl; reveal_type(rl.run().summary.ttft_ms.p99)')
[[ $revealed == *builtins.float* ]] || fail "the type of p99: $revealed"
tools/check_notebooks.py "$python" docs/notebooks "$out/notebooks"
