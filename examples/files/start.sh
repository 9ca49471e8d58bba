#!/bin/bash
# Two replicas of a launch script.
MODEL=meta-llama/Llama-3.1-8B-Instruct
for gpu in 0 1; do
  CUDA_VISIBLE_DEVICES=$gpu vllm serve $MODEL --port $((8000 + gpu)) \
    --max-num-seqs 128 --attention-backend FLASHINFER &
done
wait
