"""Lines that healthy servers print all the time. A literal that stands in one of them leads nowhere."""

from __future__ import annotations

ORDINARY = (
    "Prefill batch. #new-seq: 1, #new-token: 2, #cached-token: 3, cache hit rate: 4.5%, token usage: 0.06,"
    " full token usage: 0.1, swa token usage: 0.1, mamba usage: 0.1, #running-req: 1, #queue-req: 0,"
    " #pending-token: 1, #unbootstrapped-req: 0, #transferring-req: 0, #prealloc-req: 0, #inflight-req: 0,"
    " #bootstrap-req: 0, #optimistic-req: 0, #replay-token: 0, waiting-image-req: 0, cuda graph: True,"
    " input throughput (token/s): 10.00,",
    "Decode batch, #running-req: 1, #token: 2, #full token: 1, #swa token: 1, mamba num: 1, token usage: 0.1,"
    " accept len: 1.0, accept rate: 0.5, cap len: 1, block accept len: 1, pre-allocated usage: 0.1,"
    " #transfer-req: 0, #host-receive-req: 0, #retracted-req: 0, cuda graph: True, cpu graph: True,"
    " gen throughput (token/s): 100.00, #queue-req: 0, est. memory TFLOPS/s, fwd occupancy: 1%",
    'INFO: 127.0.0.1:1 - "POST /v1/chat/completions HTTP/1.1" 200 OK GET /health /generate /metrics /get_model_info',
    "Loading safetensors checkpoint shards: 25% Completed | 1/4 [00:00<00:01, 1.86it/s]"
    " Capturing batches (bs=1 avail_mem=1.00 GB) Capturing num tokens (num_tokens=1) Compiling num tokens",
    "Receive: obj=GenerateReqInput(rid='1', text='', sampling_params={}) Finish: obj=GenerateReqInput out={}"
    " 'meta_info': {'finish_reason': {'type': 'length', 'message': '', 'status_code': 200, 'err_type': None},"
    " 'prompt_tokens': 1, 'completion_tokens': 1, 'cached_tokens': 0, 'e2e_latency': 0.1}",
    "max_total_num_tokens=1, chunked_prefill_size=1, max_prefill_tokens=1, max_running_requests=1, context_len=1,"
    " available_gpu_mem=1.00 GB Memory pool end. avail mem=1.00 GB Load weight begin. Load weight end. type=,"
    " dtype=torch.bfloat16, mem usage=1.00 GB. KV Cache is allocated. #tokens: 1, K size: 1.00 GB, V size: 1 GB",
    "The server is fired up and ready to roll! Uvicorn running on http: (Press CTRL+C to quit) Started server process"
    " Application startup complete. Waiting for application startup. Init torch distributed begin. ends.",
    "(SGLangEngine pid=1, ip=10.0.0.1) (WorkerDict pid=1) (RolloutWorker pid=1) stderr stdout sglang-1",
    "Traceback (most recent call last): raise ValueError( RuntimeError( NotImplementedError( AssertionError",
)
"""What healthy servers print all the time, in our own words and with made-up values."""

ORDINARY_TEXT = "\n".join(ORDINARY)
