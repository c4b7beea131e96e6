"""States of text, `cospec features` as a whole command against a padded loop of transformers: rows of bench.py as JSON.

usage: features_bench.py COSPEC OUT.json [--small] [--texts N] [--turns N] [FAMILY...]      (called by bench.py; a development aid)

The first Python of BENCH_TORCH (default: /usr/bin/python3 and python3) that has torch and transformers makes a model of random weights a family, of MiniLM's
size (6 layers of 384), and is the peer: batches of 32 texts in their order, padded to the longest, no gradients, the mean of the last layer over each text's
tokens. Its seconds are those of the loop alone, tokenizer included, imports and loading left out; ours are the process with all that it reads and writes.
Interleaved, twice each. Both give the same means, or the row is an error.
"""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# The architectures of docs/reference/model-config.md; t5-decoder: its second stack, which reads the text shifted right.
FAMILIES = ["gpt2", "bert", "roberta", "roberta-prelayernorm", "distilbert", "electra", "albert", "llama", "mistral", "eurobert", "qwen2",
            "qwen3", "gpt_neox", "modernbert", "modernbert-decoder", "gemma2", "phi", "gptj", "bloom", "opt", "deberta-v2", "t5", "t5-decoder"]
LAYERS, WIDTH, HEADS, INNER, VOCABULARY, BATCH, TURNS = 6, 384, 6, 1536, 8000, 32, 2


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
           **dict.fromkeys(("t5", "t5-decoder"), {"vocab_size": VOCABULARY, "d_model": WIDTH, "d_kv": WIDTH // HEADS, "d_ff": INNER, "num_layers": LAYERS, "num_heads": HEADS,
                                                  "decoder_start_token_id": 1}),
           "electra": {**sizes, "embedding_size": WIDTH}, "albert": {**sizes, "embedding_size": 128},
           "gemma2": {**sizes, "head_dim": WIDTH // HEADS, "num_key_value_heads": HEADS, "query_pre_attn_scalar": WIDTH // HEADS},
           "qwen3": {**sizes, "head_dim": WIDTH // HEADS, "num_key_value_heads": HEADS},
           "llama": {**sizes, "num_key_value_heads": HEADS}, "eurobert": {**sizes, "num_key_value_heads": HEADS, "mask_token_id": 4}, "qwen2": {**sizes, "num_key_value_heads": HEADS},
           "mistral": {**sizes, "num_key_value_heads": HEADS // 2, "sliding_window": 16},
           "deberta-v2": {**sizes, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True,
                          "position_biased_input": False}}
    config = transformers.AutoConfig.for_model("t5" if family == "t5-decoder" else family, **{**own.get(family, sizes), **ids})
    made = transformers.T5EncoderModel(config) if family == "t5" else transformers.AutoModel.from_config(config)
    made.save_pretrained(folder)
    words = {}
    with open(path) as f:
        for word in f.read().split():
            words.setdefault(word, len(words) + 5)
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4, **words}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(os.path.join(folder, "tokenizer.json"))


def states(model, family, ids, mask):
    import torch
    if family != "t5-decoder":
        return model(input_ids=ids, attention_mask=mask).last_hidden_state
    start = torch.full_like(ids[:, :1], model.config.decoder_start_token_id)
    return model(input_ids=ids, attention_mask=mask, decoder_input_ids=torch.cat([start, ids[:, :-1]], 1)).last_hidden_state


def loop(family, folder, path, out):
    import numpy as np
    import tokenizers
    import torch
    import transformers
    model = (transformers.T5EncoderModel if family == "t5" else transformers.AutoModel).from_pretrained(folder).eval()
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.enable_padding(pad_id=1, pad_token="<pad>")
    with open(path) as f:
        texts = f.read().splitlines()
    start, used, means = time.perf_counter(), time.process_time(), []
    with torch.inference_mode():
        for at in range(0, len(texts), BATCH):
            batch = tokenizer.encode_batch(texts[at:at + BATCH])
            ids, mask = (torch.tensor([getattr(e, name) for e in batch]) for name in ("ids", "attention_mask"))
            weight = mask.unsqueeze(-1).float()
            means.append(((states(model, family, ids, mask) * weight).sum(1) / weight.sum(1)).numpy())
    seconds = {"seconds": time.perf_counter() - start, "processor": time.process_time() - used}
    np.save(out, np.concatenate(means))
    return seconds


def serve(threads):
    """Lines of FAMILY FOLDER TEXTS make a model there; with OUT its loop is run. Each gives a line of JSON: imports are paid once."""
    import torch
    import transformers
    torch.set_num_threads(int(threads))
    transformers.utils.logging.disable_progress_bar()
    print(json.dumps({"version": f"transformers {transformers.__version__}, torch {torch.__version__}"}), flush=True)
    for line in sys.stdin:
        words = line.split()
        print(json.dumps(loop(*words) if len(words) > 3 else make(*words)), flush=True)


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


class Peer:
    """The process that runs the loop, and its first line."""

    def __init__(self, python, environment, threads):
        self.process = subprocess.Popen([python, __file__, "--serve", threads], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.version = self.answer()["version"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the peer ended")
        return json.loads(line)

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return self.answer()


def ours(line, environment):
    begun, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*map(str, line)], capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{line}: {done.stderr[-600:]}")
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"seconds": time.perf_counter() - begun, "processor": now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime}


def of_family(family, peer, cospec, work, path, turns, tokens, threads, environment):
    import numpy as np
    folder, result, theirs = (os.path.join(work, name) for name in ("model", "result", "theirs.npy"))
    shutil.rmtree(folder, ignore_errors=True)
    peer.ask(family, folder, path)
    line = [cospec, "features", folder, path, "--split", "all", "--layers", "last", "--pooling", "mean", "--threads", threads, "--force", "-o", result]
    mine, other = [], []
    for _ in range(turns):
        mine.append(ours([*line, *(["--stack", "decoder"] if family == "t5-decoder" else [])], environment))
        other.append(peer.ask(family, folder, path, theirs))
    a, b = np.load(os.path.join(result, f"layer-{LAYERS}.npy")), np.load(theirs)
    apart = float(np.abs(a - b).max() / np.abs(b).max())
    if not apart < 1e-4:
        raise RuntimeError(f"{family}: states differ by {apart} of the largest")
    wall, processor = ([[x[name] for x in side] for side in (mine, other)] for name in ("seconds", "processor"))
    used = [statistics.median(x) for x in processor]
    print(f"features: {family}: {statistics.median(wall[1]) / statistics.median(wall[0]):.2f}", file=sys.stderr)
    return {"workload": f"whole command: features, {family}, {LAYERS} layers of {WIDTH}, {len(a)} texts, {tokens} tokens, {threads} threads", "ours_s": wall[0],
            "peer": f"padded loop, {peer.version}", "peer_s": wall[1],
            "note": f"{tokens / statistics.median(wall[0]):.0f} tokens/s ours, {tokens / statistics.median(wall[1]):.0f} theirs without imports and loading; "
                    f"processor seconds ours {used[0]:.2f}, theirs {used[1]:.2f}; states {apart:.1e} apart"}


def main():
    parser = argparse.ArgumentParser()
    for name in ("cospec", "out"):
        parser.add_argument(name)
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--texts", type=int)
    parser.add_argument("--turns", type=int)
    o = parser.parse_args()
    cospec = os.path.abspath(o.cospec)
    rows, python, threads = [], python_with_torch(), os.environ.get("OMP_NUM_THREADS", str(min(2, os.cpu_count())))
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "TRANSFORMERS_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false"}
    if not python:
        print("features: no Python with torch and transformers (BENCH_TORCH); skipped", file=sys.stderr)
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "texts.txt")
        tokens = texts(path, o.texts or (64 if o.small else 500))
        peer = Peer(python, environment, threads) if python else None
        for family in (o.families or (FAMILIES[:2] if o.small else FAMILIES)) if python else []:
            rows.append(of_family(family, peer, cospec, work, path, o.turns or (1 if o.small else TURNS), tokens, threads, environment))
    with open(o.out, "w") as f:
        json.dump(rows, f)


if sys.argv[1] == "--serve":
    serve(sys.argv[2])
else:
    main()
