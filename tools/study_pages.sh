#!/bin/sh
# Writes lab/docs/studies/<id>.md of every study anew: tools/study_pages.sh BINARY BENCH_DATA MEASURED [FOLDER]
set -eu
binary=$1 tables=$2 measured=$3 folder=${4:-lab/docs/studies}
mkdir -p "$folder"
for id in $("$binary" study list | cut -d' ' -f1); do
  "$binary" study run "$id" --bench-data "$tables" --measured "$measured" --format quiet -o "$folder/$id.md"
done
