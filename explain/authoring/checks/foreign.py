"""Flags of other programs that records may name."""

from __future__ import annotations

_FOREIGN = """
pip uv: --force-reinstall --no-deps --no-cache-dir --no-cache --upgrade --index-url --extra-index-url
--find-links --no-build-isolation --pre --user --break-system-packages --no-binary --only-binary --python
--managed-python --system --prerelease --index-strategy --ignore-installed --reinstall --target
--torch-backend
docker podman: --gpus --ipc --shm-size --ulimit --cap-add --network --net --privileged --device --pid
--rm --restart --memory --memory-swap --group-add --security-opt --env --volume --mount --runtime
--entrypoint --name --user --init --oom-kill-disable --env-file --cpus --cpuset-cpus --cpuset-mems
--publish --tmpfs --no-trunc --tail --follow
kubectl helm: --previous --since --timestamps --containers --all-containers --namespace --selector
--prefix --output
hf git: --local-dir --include --exclude --token --revision --repo-type --recursive --depth --branch
--local-dir-use-symlinks --max-workers
nvidia-smi rocm-smi: --query-gpu --format --gpu-reset --query-compute-apps --showmeminfo --showuse
--persistence-mode --query-remapped-rows --query-retired-pages --showproductname --showtopo
--reset-ecc-errors
singularity apptainer: --nv --rocm --bind --writable-tmpfs --containall --cleanenv
slurm mpi ray: --gres --mem --label --ntasks --ntasks-per-node --nodes --cpus-per-task --gpus-per-node
--export --tag-output --num-gpus --num-cpus --address --head --block --object-store-memory
--nproc-per-node --time
systemd journalctl: --unit --since --until --no-pager --boot --dmesg --output --now --runtime-properties
router: --pd-disaggregation --mini-lb --request-timeout-secs --worker-urls --prefill --decode --policy
--prefill-policy --decode-policy --worker-startup-timeout-secs --worker-startup-check-interval
--service-discovery --selector --service-discovery-namespace --retry-max-retries --disable-retries
--cb-failure-threshold --disable-circuit-breaker --max-payload-size --max-concurrent-requests
--queue-size --queue-timeout-secs --health-failure-threshold --health-check-interval-secs
--health-check-timeout-secs --health-success-threshold --health-check-endpoint --dp-aware --api-key
--host --port --balance-abs-threshold --balance-rel-threshold --cache-threshold --model-path
--tokenizer-path --chat-template --log-level --prometheus-port --backend --enable-igw --history-backend
--cors-allowed-origins --rate-limit-tokens-per-second --prefill-selector --decode-selector
--bootstrap-port-annotation --mcp-config-path --reasoning-parser --tool-call-parser --tls-cert-path
--tls-key-path --eviction-interval-secs --max-tree-size --cb-success-threshold --cb-timeout-duration-secs
--retry-initial-backoff-ms --retry-max-backoff-ms --shutdown-grace-period-secs --enable-wasm
--disable-health-check
mooncake nccl perftest: --rpc_port --enable_http_metadata_server --http_metadata_server_port
--eviction_high_watermark_ratio --default_kv_lease_ttl --minbytes --maxbytes --stepfactor --ngpus
--metadata_server
numactl py-spy gdb: --cpunodebind --membind --interleave --hardware --native --locals --nonblocking
--batch
general: --help --version --verbose --debug --force --all --recursive --yes --quick --tool
--print-memory-usage
compilers: --std --gpu-architecture --generate-code --expt-relaxed-constexpr --expt-extended-lambda
--allow-unsupported-compiler
sglang-explain: --sglang --follow --fail-on --patterns --only-patterns
vllm, named because people carry them over: --tensor-parallel-size --max-model-len
--gpu-memory-utilization --enforce-eager --enable-prefix-caching --enable-auto-tool-choice
--guided-decoding-backend --lora-modules --hf-overrides --speculative-model --disable-log-requests
--block-size --extra-args --pids-limit --noproxy --force-download --merge --max-num-seqs
--max-num-batched-tokens --swap-space --enable-chunked-prefill
"""

FOREIGN_FLAGS = frozenset(word for word in _FOREIGN.split() if word.startswith("--"))
