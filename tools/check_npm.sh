#!/usr/bin/env bash
# Packs the npm package (out/npm), installs it into an empty project and runs the example there; then the types, where
# TypeScript can be had. Run by ./dev npm.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly out=$PWD/out/npm
readonly digest=cad010207051a08fa060fc174de1bd21  # of README.md's example
readonly typescript=5.9.3

fail() {
  printf 'check_npm: %s\n' "$*" >&2
  exit 1
}

rm -rf "$out"
mkdir -p "$out/project"
if ! command -v npm >/dev/null; then
  echo "check_npm: no npm here: not packed, and the example and the types not tried"
  exit 0
fi
(cd npm && npm pack --silent --pack-destination "$out")
cd "$out/project"
npm init -y >/dev/null
npm install --silent --offline --no-audit --no-fund "$out"/ridgeline-*.tgz
cp ../../../examples/javascript/first.mjs .
printf '\n$ node first.mjs\n'
node first.mjs | tee first.txt
grep -q "$digest" first.txt || fail "the example's digest is not that of the program"

if npm install --silent --no-audit --no-fund --ignore-scripts "typescript@$typescript" 2>/dev/null; then
  cp ../../../npm/test/types.ts types.mts
  npx tsc --strict --noEmit --target es2022 --module nodenext --skipLibCheck false types.mts
  echo "check_npm: types hold under tsc --strict"
else
  echo "check_npm: TypeScript cannot be had here: types not checked"
fi
