#!/usr/bin/env bash
# Runs one small sweep whole, as a Slurm array of 8 tasks on a Slurm of this machine alone, and under GNU parallel, and
# compares the merged results byte by byte: tools/try_schedulers.sh BINARY. As root, for Slurm's daemons; they have
# a folder and ports of their own and are ended with the script.
set -euo pipefail

binary=$(realpath "$1")
folder=$(mktemp -d)
host=$(hostname -s)
daemons=()

finish() {
  kill "${daemons[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT

start_slurm() {
  mkdir -m 711 "$folder/munge"
  dd if=/dev/urandom of="$folder/munge/key" bs=128 count=1 status=none
  chmod 600 "$folder/munge/key"
  chmod 755 "$folder"
  munged --foreground --force --socket="$folder/munge/socket" --key-file="$folder/munge/key" \
    --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" >"$folder/munged.out" 2>&1 &
  daemons+=($!)
  mkdir "$folder/state" "$folder/spool"
  # SchedulerParameters: without them an array waits for the scheduler's rounds, 42 s instead of 2.
  cat >"$folder/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=$host
SlurmctldPort=46817
SlurmdPort=46818
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=defer_batch,batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
NodeName=$host CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
  export SLURM_CONF=$folder/slurm.conf
  for _ in $(seq 50); do [[ -S $folder/munge/socket ]] && break; sleep 0.1; done
  slurmctld -D -f "$SLURM_CONF" >"$folder/slurmctld.out" 2>&1 &
  daemons+=($!)
  slurmd -D -f "$SLURM_CONF" >"$folder/slurmd.out" 2>&1 &
  daemons+=($!)
  for _ in $(seq 100); do sinfo -h -t idle -o %n 2>/dev/null | grep -q . && return; sleep 0.2; done
  tail -n 5 "$folder"/*.out >&2
  echo "Slurm's node did not come up" >&2
  return 1
}

cd "$folder"
cat >sweep.yaml <<'YAML'
model: llama-3.1-8b
gpu: h100
workload: {num_prompts: 500, input_len: 256, output_len: 64, request_rate: 8}
axes:
  engine: {max_num_seqs: {from: 16, to: 128, factor: 2}, tensor_parallel_size: [1, 2, 4]}
  workload.request_rate: [2, 4, 8, 16]
YAML
export RIDGELINE=$binary
"$binary" sweep run sweep.yaml --store whole -o whole.ndjson
started=$SECONDS
start_slurm
echo "Slurm is up after $((SECONDS - started)) s"
"$binary" sweep submit sweep.yaml --engine slurm --shards 8 --store array -o array.sh
started=$SECONDS
bash array.sh
for _ in $(seq 300); do [[ -s array/merged.ndjson ]] && break; sleep 0.2; done
cmp whole.ndjson array/merged.ndjson || { cat sweep-*.log >&2; tail -n 5 "$folder"/*.out >&2; exit 1; }
echo "a Slurm array of 8 tasks: the same bytes, $((SECONDS - started)) s"
"$binary" sweep submit sweep.yaml --engine parallel --shards 8 --store many -o many.sh
started=$SECONDS
bash many.sh
cmp whole.ndjson many/merged.ndjson
echo "GNU parallel, 8 tasks: the same bytes, $((SECONDS - started)) s"
