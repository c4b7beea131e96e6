"""States of text, `cospec features` as a whole command against a padded loop of transformers: rows of bench.py as JSON.

usage: features_bench.py COSPEC OUT.json [--small]      (called by bench.py; a development aid)

The first Python of BENCH_TORCH (default: /usr/bin/python3 and python3) that has torch and transformers makes a model of random weights a family, of MiniLM's
size (6 layers of 384), and is the peer: batches of 32 texts in their order, padded to the longest, no gradients, the mean of the last layer over each text's
tokens. Its seconds are those of the loop alone, tokenizer included, imports and loading left out; ours are the process with all that it reads and writes.
In turns, three times each. Both give the same means, or the row is an error.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

FAMILIES = ["gpt2", "bert", "roberta", "distilbert", "electra", "albert", "llama", "qwen3", "gpt_neox", "modernbert", "gemma2", "phi", "gptj", "bloom", "opt", "deberta-v2", "t5"]
LAYERS, WIDTH, HEADS, INNER, VOCABULARY, BATCH, TURNS = 6, 384, 6, 1536, 8000, 32, 3


# --- in the Python that has torch ---------------------------------------------------------------------------------------------------------------


def make(family, folder, path):
    """A model of random weights and a tokenizer of the texts' words."""
    import tokenizers
    import torch
    import transformers
    torch.manual_seed(1)
    sizes = {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER,
             "max_position_embeddings": 514}
    gpt = {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": 512}
    ids = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
    own = {"gpt2": gpt, "gptj": {**gpt, "n_inner": INNER, "rotary_dim": 32},
           "distilbert": {"vocab_size": VOCABULARY, "dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": INNER},
           "bloom": {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "n_layer": LAYERS, "n_head": HEADS},
           "opt": {**{k: sizes[k] for k in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings")},
                   "ffn_dim": INNER, "word_embed_proj_dim": WIDTH},
           "t5": {"vocab_size": VOCABULARY, "d_model": WIDTH, "d_kv": WIDTH // HEADS, "d_ff": INNER, "num_layers": LAYERS, "num_heads": HEADS, "decoder_start_token_id": 1},
           "electra": {**sizes, "embedding_size": WIDTH}, "albert": {**sizes, "embedding_size": 128},
           "gemma2": {**sizes, "head_dim": WIDTH // HEADS, "num_key_value_heads": HEADS, "query_pre_attn_scalar": WIDTH // HEADS},
           "qwen3": {**sizes, "head_dim": WIDTH // HEADS, "num_key_value_heads": HEADS},
           "llama": {**sizes, "num_key_value_heads": HEADS},
           "deberta-v2": {**sizes, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True,
                          "position_biased_input": False}}
    config = transformers.AutoConfig.for_model(family, **{**own.get(family, sizes), **ids})
    model = transformers.T5EncoderModel(config) if family == "t5" else transformers.AutoModel.from_config(config)
    model.save_pretrained(folder)
    words = {}
    with open(path) as f:
        for word in f.read().split():
            words.setdefault(word, len(words) + 5)
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4, **words}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(os.path.join(folder, "tokenizer.json"))


def peer(family, folder, path, out, threads):
    import numpy as np
    import tokenizers
    import torch
    import transformers
    torch.set_num_threads(int(threads))
    model = (transformers.T5EncoderModel if family == "t5" else transformers.AutoModel).from_pretrained(folder).eval()
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.enable_padding(pad_id=1, pad_token="<pad>")
    with open(path) as f:
        texts = f.read().splitlines()
    start, means = time.perf_counter(), []
    with torch.inference_mode():
        for at in range(0, len(texts), BATCH):
            batch = tokenizer.encode_batch(texts[at:at + BATCH])
            ids, mask = (torch.tensor([getattr(e, name) for e in batch]) for name in ("ids", "attention_mask"))
            states = model(input_ids=ids, attention_mask=mask).last_hidden_state
            weight = mask.unsqueeze(-1).float()
            means.append(((states * weight).sum(1) / weight.sum(1)).numpy())
    seconds = time.perf_counter() - start
    np.save(out, np.concatenate(means))
    print(json.dumps({"seconds": seconds, "version": f"transformers {transformers.__version__}, torch {torch.__version__}"}))


# --- the driver ---------------------------------------------------------------------------------------------------------------------------------


def python_with_torch():
    for python in os.environ.get("BENCH_TORCH", "/usr/bin/python3 python3").split():
        try:
            if subprocess.run([python, "-c", "import torch, transformers, tokenizers, numpy"], capture_output=True, check=False).returncode == 0:
                return python
        except OSError:
            pass
    return None


def texts(path, count):
    """Of the lengths of dictionary glosses: 4 to 60 words, half of them below 11; words by Zipf's law."""
    import numpy as np
    rng = np.random.default_rng(20261123)
    lengths = np.clip(np.exp(rng.normal(2.4, 0.55, count)), 4, 60).astype(int)
    p = 1 / (np.arange(VOCABULARY - 100) + 2.7)
    with open(path, "w") as f:
        for n in lengths:
            f.write(" ".join(f"w{i}" for i in rng.choice(len(p), n, p=p / p.sum())) + "\n")
    return int(lengths.sum())


def main(cospec, out, small):
    import numpy as np
    rows, python, threads = [], python_with_torch(), os.environ.get("OMP_NUM_THREADS", str(min(2, os.cpu_count())))
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "TRANSFORMERS_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false"}
    if not python:
        print("features: no Python with torch and transformers (BENCH_TORCH); skipped", file=sys.stderr)
    with tempfile.TemporaryDirectory() as work:
        path, count = os.path.join(work, "texts.txt"), 64 if small else 1500
        tokens = texts(path, count)

        def run(*line):
            done = subprocess.run([*map(str, line)], capture_output=True, text=True, env=environment, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"{line}: {done.stderr[-600:]}")
            return done.stdout

        for family in (FAMILIES[:2] if small else FAMILIES) if python else []:
            folder, result, theirs = (os.path.join(work, name) for name in ("model", "result", "theirs.npy"))
            run("rm", "-rf", folder)
            run(python, __file__, "--make", family, folder, path)
            mine, seconds = [], []
            for _ in range(1 if small else TURNS):
                start = time.perf_counter()
                run(cospec, "features", folder, path, "--split", "all", "--layers", "last", "--pooling", "mean", "--threads", threads, "--force", "-o", result)
                mine.append(time.perf_counter() - start)
                got = json.loads(run(python, __file__, "--peer", family, folder, path, theirs, threads))
                seconds.append(got["seconds"])
            a, b = np.load(os.path.join(result, f"layer-{LAYERS}.npy")), np.load(theirs)
            apart = float(np.abs(a - b).max() / np.abs(b).max())
            if not apart < 1e-4:
                raise RuntimeError(f"{family}: states differ by {apart} of the largest")
            rows.append({"workload": f"whole command: features, {family}, {LAYERS} layers of {WIDTH}, {count} texts, {tokens} tokens, {threads} threads", "ours_s": mine,
                         "peer": f"padded loop, {got['version']}", "peer_s": seconds,
                         "note": f"{tokens / statistics.median(mine):.0f} tokens/s ours, {tokens / statistics.median(seconds):.0f} theirs without imports and loading; states {apart:.1e} apart"})
            print(f"features: {family}: {statistics.median(seconds) / statistics.median(mine):.2f}", file=sys.stderr)
    with open(out, "w") as f:
        json.dump(rows, f)


if sys.argv[1] == "--make":
    make(*sys.argv[2:])
elif sys.argv[1] == "--peer":
    peer(*sys.argv[2:])
else:
    main(os.path.abspath(sys.argv[1]), sys.argv[2], "--small" in sys.argv)
