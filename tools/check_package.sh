#!/usr/bin/env bash
# Unpacks the .deb into a fresh root (dpkg -x: no root's rights, nothing of the system changes) and uses it as a stranger
# would: the program, the manual page, the library from C by plain cc and from C and C++ by find_package.
#
#   tools/check_package.sh build/release
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly build=$1
readonly out=$PWD/out/package
readonly root=$out/root
readonly readme_digest=cad010207051a08fa060fc174de1bd21

fail() {
  printf 'check_package: %s\n' "$*" >&2
  exit 1
}

rm -rf "$out"
mkdir -p "$root"
cpack --config "$build/CPackConfig.cmake" -B "$out" >"$out/cpack.log" || { cat "$out/cpack.log"; fail "cpack"; }
readonly deb=("$out"/ridgeline_*.deb)
dpkg -x "${deb[0]}" "$root"
lib=$(dirname "$(find "$root/usr/lib" -name libridgeline.so)")

for file in usr/bin/ridgeline usr/include/ridgeline.h usr/include/ridgeline/ridgeline.hpp \
  usr/share/man/man1/ridgeline.1.gz usr/share/bash-completion/completions/ridgeline \
  usr/share/zsh/vendor-completions/_ridgeline usr/share/fish/vendor_completions.d/ridgeline.fish \
  usr/share/doc/ridgeline/copyright usr/share/doc/ridgeline/THIRD_PARTY_NOTICES; do
  [[ -s $root/$file ]] || fail "the package has no $file"
done
[[ $(dpkg-deb -f "${deb[0]}" Depends) == *libfmt9* ]] || fail "the package does not depend on its libraries"

# Nothing of the inside is visible.
shown=$(nm -D --defined-only -C "$lib/libridgeline.so" | cut -d' ' -f3- |
  grep -vE '^(rl_[a-z_]+@@RIDGELINE_2|RIDGELINE_2(@@RIDGELINE_2)?|ridgeline::v0::.*)$' || true)
[[ -z $shown ]] || fail "libridgeline.so shows more than it should: $shown"
abi=$(sed -n 's/^#define RL_ABI //p' include/ridgeline.h)
[[ $(nm -D --defined-only "$lib/libridgeline.so" | grep -oE 'rl_[a-z_]+' | sort -u) == \
   $(sed -n 's/^function //p' "cmake/abi/$abi.txt") ]] || fail "libridgeline.so shows other functions than cmake/abi/$abi.txt"
python3 tools/third_party_notices.py --check "$root/usr/bin/ridgeline" "$lib/libridgeline.so"

# The laboratory's program is a package of its own, which the other one runs where both are installed.
readonly lab=("$out"/ridgeline-lab_*.deb)
[[ -s ${lab[0]} ]] || fail "no package ridgeline-lab"
[[ $(dpkg-deb -c "${lab[0]}" | grep -c '^-') == 1 ]] || fail "ridgeline-lab holds more than its program"
[[ $(dpkg-deb -f "${lab[0]}" Depends) == *ridgeline* ]] || fail "ridgeline-lab does not depend on ridgeline"
[[ $("$root/usr/bin/ridgeline" study list 2>&1) == *"./dev lab"* ]] || fail "ridgeline does not say what 'study' needs"
dpkg -x "${lab[0]}" "$root"
python3 tools/third_party_notices.py --check "$root/usr/bin/ridgeline-lab"
[[ $("$root/usr/bin/ridgeline" study list) == *h29* ]] || fail "ridgeline does not run ridgeline-lab beside it"

# From here on in the fresh root alone.
readonly demo=(run --model llama-3.1-8b --gpu h100 --request-rate 8 --num-prompts 1000
               --input-len 512 --output-len 256 --seed 1 --slo-ttft 50ms --slo-tpot 10ms)
[[ $("$root/usr/bin/ridgeline" "${demo[@]}" --format json) == *"$readme_digest"* ]] || fail "the program's digest"

export LD_LIBRARY_PATH=$lib PKG_CONFIG_PATH=$lib/pkgconfig
export CC=${CC:-gcc}
# shellcheck disable=SC2046 # words
"$CC" -std=c11 -pedantic -Wall -Wextra -Werror examples/library/first.c \
  $(pkg-config --cflags --libs ridgeline) -o "$out/first"
[[ $("$out/first" 2>/dev/null) == *"$readme_digest"* ]] || fail "the C example by plain cc"
cmake -S examples/library -B "$out/example" -G Ninja -DCMAKE_PREFIX_PATH="$root/usr" >/dev/null
cmake --build "$out/example" >/dev/null || fail "the examples do not build by find_package"
[[ $("$out/example/first_c" 2>/dev/null) == *"$readme_digest"* ]] || fail "the C example by find_package"
"$out/example/first_cpp"
printf 'check_package: %s and %s hold what they should\n' "${deb[0]##*/}" "${lab[0]##*/}"
