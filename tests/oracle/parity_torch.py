"""The networks of src/model/network.h in plain PyTorch, written from the papers and that header alone.

Attention is an explicit softmax over explicit masks, every sequence by itself, no fused kernels. A network is a function of a
config (as in config.json), parameters by name and the arrays of a batch. The gradients come from autograd.

Sources: GPT-2 (Radford et al. 2019), BERT (Devlin et al. 2019), two-stream attention (LA App. B.3, Eq. 23-24), MAE-LM
(section 3), linear attention (theory of Theorem 4.3: explicit double sum), relative buckets (Raffel et al. 2020, 2.1).
"""
import math

import torch

FNV, PRIME, WORD = 2166136261, 16777619, 0xFFFFFFFF


def formula(salt, name, n):
    """parity_value of tests/parity_support.h for items 0..n-1."""
    h = FNV ^ salt
    for c in name.encode():
        h = ((h ^ c) * PRIME) & WORD
    shift = 1 if name.endswith(".gain") else 0
    out = []
    for i in range(n):
        x = (h + i * 2654435761) & WORD
        x = ((x ^ (x >> 15)) * 2246822519) & WORD
        x = ((x ^ (x >> 13)) * 3266489917) & WORD
        x ^= x >> 16
        out.append(shift + ((x & 2047) - 1023.5) / 2048)
    return out


class Settings:
    """The settings of config.json that a network needs, by our own reading of its keys."""

    def __init__(self, config):
        ours = config.get("cospec", {})
        kind = config["model_type"]
        self.arch = ours["architecture"] if kind == "cospec" else kind
        gpt2 = self.arch == "gpt2"
        linear = self.arch == "linear"
        get = lambda a, b, *rest: config.get(a if gpt2 else b, *rest)
        self.vocab = config["vocab_size"]
        self.width = get("n_embd", "hidden_size")
        self.layers = get("n_layer", "num_hidden_layers")
        self.heads = get("n_head", "num_attention_heads")
        self.inner = get("n_inner", "intermediate_size", None) or 4 * self.width
        self.eps = get("layer_norm_epsilon", "layer_norm_eps", 1e-5)
        act = get("activation_function", "hidden_act", "gelu_new" if gpt2 else "gelu")
        self.act = {"gelu_new": gelu_tanh, "gelu": gelu, "relu": torch.relu, "tanh": torch.tanh,
                    "linear": lambda x: x}[act]
        # RobertaLMHead uses gelu whatever hidden_act says; Bert's head transform uses hidden_act
        self.head_act = self.act if self.arch == "bert" else gelu
        self.tied = config.get("tie_word_embeddings", True)
        hf = self.arch in ("roberta", "roberta-prelayernorm", "bert")
        self.post_norm = ours.get("post_norm", self.arch in ("roberta", "bert"))
        self.embed_norm = ours.get("embed_norm", hf)
        self.head_transform = ours.get("head_transform", hf)
        self.head_bias = ours.get("head_bias", hf)
        self.bias = ours.get("bias", not linear)
        self.types = ours.get("token_types", config.get("type_vocab_size", 0) if hf else 0)
        self.buckets = ours.get("relative_buckets", 0)
        self.distance = ours.get("relative_distance", 0)
        self.query_vector = ours.get("query_vector", False)
        self.blind = ours.get("blind_queries", False)
        self.pooling = ours.get("pooling", 2)
        self.offset = config["pad_token_id"] + 1 if self.arch.startswith("roberta") else 0
        self.positions = get("n_positions", "max_position_embeddings")  # rows of the table
        self.decoder = {k: ours.get("decoder_" + k, 0) for k in ("layers", "width", "heads", "inner")}
        self.decoder["attention"] = ours.get("decoder_attention", "self")


def shapes(c):
    """Name -> shape of every parameter (src/model/model.h)."""
    out = {}
    d, f = c.width, c.inner

    def norm(name, width):
        out[name + ".gain"] = (1, width)
        if c.bias:
            out[name + ".bias"] = (1, width)

    def linear(name, rows, cols):
        out[name + ".weight"] = (rows, cols)
        if c.bias:
            out[name + ".bias"] = (1, rows)

    out["embed.token"] = (c.vocab, d)
    if c.positions:
        out["embed.position"] = (c.positions, d)
    if c.arch == "linear":
        out["layer.0.attention.qkv.weight"] = (3 * d, d)
        out["output.weight"] = (c.vocab, d)
        return out
    if c.types:
        out["embed.type"] = (c.types, d)
    if c.embed_norm:
        norm("embed.norm", d)
    if c.query_vector:
        out["query.start"] = (1, d)
    if c.buckets:
        out["relative.table"] = (c.buckets, c.heads)
    for n in range(c.layers):
        at = f"layer.{n}."
        norm(at + "attention.norm", d)
        linear(at + "attention.qkv", 3 * d, d)
        linear(at + "attention.output", d, d)
        norm(at + "mlp.norm", d)
        linear(at + "mlp.in", f, d)
        linear(at + "mlp.out", d, f)
    if not c.post_norm:
        norm("final_norm", d)
    if c.head_transform:
        linear("head.dense", d, d)
        norm("head.norm", d)
    if c.head_bias:
        out["head.bias"] = (1, c.vocab)
    if not c.tied:
        out["output.weight"] = (c.vocab, d)
    e, g, kind = c.decoder["width"], c.decoder["inner"], c.decoder["attention"]
    if c.decoder["layers"]:
        if e != d:
            linear("decoder.project", e, d)
        if kind == "causal-cross":
            out["decoder.token"] = (c.vocab, e)
        else:
            out["decoder.mask"] = (1, e)
        if c.positions:
            out["decoder.position"] = (c.positions, e)
        for n in range(c.decoder["layers"]):
            at = f"decoder.layer.{n}."
            if kind != "cross":
                norm(at + "attention.norm", e)
                linear(at + "attention.qkv", 3 * e, e)
                linear(at + "attention.output", e, e)
            if kind != "self":
                norm(at + "cross.norm", e)
                linear(at + "cross.query", e, e)
                linear(at + "cross.kv", 2 * e, e)
                linear(at + "cross.output", e, e)
            norm(at + "mlp.norm", e)
            linear(at + "mlp.in", g, e)
            linear(at + "mlp.out", e, g)
        if not c.post_norm:
            norm("decoder.norm", e)
        if e != d:
            linear("decoder.output", d, e)
    return out


def parameters(c, salt, dtype=torch.float64):
    """Every parameter with its formula's values, wanting a gradient."""
    return {name: torch.tensor(formula(salt, name, shape[0] * shape[1]), dtype=dtype)
            .reshape(shape).requires_grad_() for name, shape in shapes(c).items()}


# --- pieces -----------------------------------------------------------------------------------------------------------------


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def bucket(distance, buckets, most):
    """Both sides: half of the buckets each; of a side, half exact, the others logarithmic up to `most`."""
    side = buckets // 2
    base = side if distance > 0 else 0
    d = abs(distance)
    exact = side // 2
    if d < exact:
        return base + d
    far = exact + int(math.log(d / exact) / math.log(most / exact) * (side - exact))
    return base + min(far, side - 1)


class Net:
    """The pieces on one set of parameters."""

    def __init__(self, c, p):
        self.c, self.p = c, p
        self.dtype = next(iter(p.values())).dtype

    def linear(self, x, name):
        y = x @ self.p[name + ".weight"].T
        return y + self.p[name + ".bias"] if name + ".bias" in self.p else y

    def norm(self, x, name):
        mean = x.mean(-1, keepdim=True)
        var = ((x - mean) ** 2).mean(-1, keepdim=True)
        y = (x - mean) / torch.sqrt(var + self.c.eps) * self.p[name + ".gain"]
        return y + self.p[name + ".bias"] if name + ".bias" in self.p else y

    def rows_of(self, table, index):
        """Rows of a table; zero where the index is negative."""
        rows = [table[i] if i >= 0 else torch.zeros(table.shape[1], dtype=self.dtype) for i in index]
        return torch.stack(rows)

    def attend(self, q, k, v, sees, heads, bias=None):
        """One sequence. sees: for each query row the list of keys it sees; bias[h][i][j]."""
        hd = q.shape[1] // heads
        out = []
        for i, keys in enumerate(sees):
            row = []
            for h in range(heads):
                cut = slice(h * hd, (h + 1) * hd)
                if not keys:
                    row.append(torch.zeros(hd, dtype=self.dtype))
                    continue
                score = k[keys][:, cut] @ q[i, cut] / math.sqrt(hd)
                if bias is not None:
                    score = score + bias(i, keys, h)
                row.append(torch.softmax(score, 0) @ v[keys][:, cut])
            out.append(torch.cat(row))
        return torch.stack(out)

    def relative(self, at_query, at_key):
        if not self.c.buckets:
            return None
        return lambda i, keys, h: torch.stack(
            [self.p["relative.table"][bucket(at_key[j] - at_query[i], self.c.buckets,
                                             self.c.distance), h] for j in keys])

    def sublayer(self, x, name, f):
        """x + f(norm(x)), or norm(x + f(x)) where norms come after."""
        if self.c.post_norm:
            return self.norm(x + f(x), name + ".norm")
        return x + f(self.norm(x, name + ".norm"))

    def mlp(self, x, at):
        return self.sublayer(x, at + "mlp", lambda z: self.linear(
            self.c.act(self.linear(z, at + "mlp.in")), at + "mlp.out"))

    def entry(self, x):
        return self.norm(x, "embed.norm") if self.c.embed_norm else x

    def embed(self, token, position):
        x = self.rows_of(self.p["embed.token"], token)
        if "embed.position" in self.p:
            x = x + self.rows_of(self.p["embed.position"], position)
        if "embed.type" in self.p:
            x = x + self.p["embed.type"][0]
        return self.entry(x)

    def split(self, x, at):
        return self.linear(x, at + "attention.qkv").chunk(3, dim=1)

    def content(self, token, position, sees, keep=None):
        """Rows of one sequence through all layers, before the final norm; inputs of each layer in `keep`."""
        h = self.embed(token, position)
        bias = self.relative(position, position)
        for n in range(self.c.layers):
            at = f"layer.{n}."
            if keep is not None:
                keep.append(h)

            def attention(z):
                q, k, v = self.split(z, at)
                return self.linear(self.attend(q, k, v, sees, self.c.heads, bias),
                                   at + "attention.output")

            h = self.mlp(self.sublayer(h, at + "attention", attention), at)
        if keep is not None:
            keep.append(h)
        return h

    def final(self, h):
        return h if self.c.post_norm else self.norm(h, "final_norm")

    def head(self, x, spectral):
        if self.c.head_transform:
            x = self.norm(self.c.head_act(self.linear(x, "head.dense")), "head.norm")
        z = x @ self.p["output.weight" if "output.weight" in self.p else "embed.token"].T
        return z + self.p["head.bias"] if "head.bias" in self.p and not spectral else z


# --- forms ------------------------------------------------------------------------------------------------------------------


def see(vis, lim):
    """Row i sees row j iff vis[j] <= lim[i]."""
    return [[j for j, v in enumerate(vis) if v <= limit] for limit in lim]


def sequences(batch, names, length):
    """Arrays cut into sequences: one list of lists each."""
    return [[batch[name][b * length:(b + 1) * length] if batch.get(name) else [0] * length
             for name in names] for b in range(batch["batch"])]


def single(net, batch):
    rows = []
    for token, position, vis, lim in sequences(batch, ("token", "position", "vis", "lim"),
                                               batch["length"]):
        rows.append(net.final(net.content(token, position, see(vis, lim))))
    return torch.cat(rows)


def two_stream(net, batch):
    """Eq. 23: queries of the query stream, keys and values of the content stream, one set of weights. Blind queries start from the
    learned vector alone and have no distance to any row."""
    c, rows = net.c, []
    content = sequences(batch, ("token", "position", "vis", "lim"), batch["length"])
    query = sequences(batch, ("query_position", "query_lim"), batch["queries"])
    for (token, position, vis, lim), (place, limit) in zip(content, query):
        layers = []
        net.content(token, position, see(vis, lim), layers)
        g = net.p["query.start"].expand(len(place), c.width)
        if "embed.position" in net.p and not c.blind:
            g = g + net.rows_of(net.p["embed.position"], place)
        g = net.entry(g)
        sees, bias = see(vis, limit), None if c.blind else net.relative(place, position)
        for n in range(c.layers):
            at = f"layer.{n}."
            h = layers[n] if c.post_norm else net.norm(layers[n], at + "attention.norm")
            _, k, v = net.split(h, at)

            def attention(z):
                return net.linear(net.attend(net.split(z, at)[0], k, v, sees, c.heads, bias),
                                  at + "attention.output")

            g = net.mlp(net.sublayer(g, at + "attention", attention), at)
        rows.append(net.final(g))
    return torch.cat(rows)


def mae(net, batch):
    c, d = net.c, net.c.decoder
    encoded = single(net, batch)
    if d["width"] != c.width:
        encoded = net.linear(encoded, "decoder.project")
    rows, length = [], batch["length"]
    causal, cross_only = d["attention"] == "causal-cross", d["attention"] == "cross"
    names = ("decoder_from", "decoder_token", "decoder_position", "decoder_vis", "decoder_lim",
             "decoder_cross_lim")
    content = sequences(batch, ("vis",), length)
    for b, (source, token, position, vis, lim, cross_lim) in enumerate(
            sequences(batch, names, batch["decoder_length"])):
        h = net.rows_of(net.p["decoder.token" if causal else "decoder.mask"], token)
        if not causal and not cross_only:
            h = h + net.rows_of(encoded, source)
        if "decoder.position" in net.p:
            h = h + net.rows_of(net.p["decoder.position"], position)
        own = encoded[b * length:(b + 1) * length]
        sees, across = see(vis, lim), see(content[b][0], cross_lim)
        for n in range(d["layers"]):
            at = f"decoder.layer.{n}."

            def attention(z):
                q, k, v = net.split(z, at)
                return net.linear(net.attend(q, k, v, sees, d["heads"]), at + "attention.output")

            def cross(z):
                k, v = net.linear(own, at + "cross.kv").chunk(2, dim=1)
                q = net.linear(z, at + "cross.query")
                return net.linear(net.attend(q, k, v, across, d["heads"]), at + "cross.output")

            if not cross_only:
                h = net.sublayer(h, at + "attention", attention)
            if d["attention"] != "self":
                h = net.sublayer(h, at + "cross", cross)
            h = net.mlp(h, at)
        if not c.post_norm:
            h = net.norm(h, "decoder.norm")
        rows.append(net.linear(h, "decoder.output") if d["width"] != c.width else h)
    return torch.cat(rows)


def linear(net, batch):
    """f(X) = n^-power sum_u sum_v (q_u . k_v) v_v over the seen set, for each head."""
    c, rows = net.c, []
    hd = c.width // c.heads
    content = sequences(batch, ("token", "position", "vis"), batch["length"])
    query = sequences(batch, ("query_lim",), batch["queries"])
    for (token, position, vis), (limit,) in zip(content, query):
        x = net.rows_of(net.p["embed.token"], token)
        if "embed.position" in net.p:
            x = x + net.rows_of(net.p["embed.position"], position)
        q, k, v = (x @ net.p["layer.0.attention.qkv.weight"].T).chunk(3, dim=1)
        for keys in see(vis, limit):
            row = []
            for h in range(c.heads):
                cut = slice(h * hd, (h + 1) * hd)
                total = torch.zeros(hd, dtype=net.dtype)
                for i in keys:
                    for j in keys:
                        total = total + (q[i, cut] * k[j, cut]).sum() * v[j, cut]
                row.append(total * len(keys) ** -c.pooling if keys else total)
            rows.append(torch.cat(row))
    return torch.stack(rows)


FORMS = {"single": single, "two-stream": two_stream, "mae": mae, "linear": linear}


# --- losses -----------------------------------------------------------------------------------------------------------------


def evaluate(case, c, p, batch):
    """logits (P x V), losses (P), and the loss, of a case whose batch is given by arrays."""
    net = Net(c, p)
    spectral = case["loss"] == "spectral"
    top = FORMS[case["form"]](net, batch)
    picked = net.rows_of(top, batch["predict"])
    logits = picked @ p["output.weight"].T if c.arch == "linear" else net.head(picked, spectral)
    losses = []
    for z, target, weight in zip(logits, batch["target"], batch["weight"]):
        if target < 0:
            losses.append(torch.zeros((), dtype=net.dtype))
        elif spectral:
            mass = torch.tensor(case["mass"], dtype=net.dtype)
            losses.append(weight * (-case["factor"] * z[target] + (mass * z * z).sum()))
        else:
            losses.append(-weight * torch.log_softmax(z, 0)[target])
    losses = torch.stack(losses)
    return logits, losses, losses.sum()


def hidden(c, p, batch):
    """Top (after the final norm) and layers + 1 hidden states of the content rows."""
    net, top, kept = Net(c, p), [], []
    for token, position, vis, lim in sequences(batch, ("token", "position", "vis", "lim"),
                                               batch["length"]):
        layers = []
        top.append(net.final(net.content(token, position, see(vis, lim), layers)))
        kept.append(layers)
    return torch.cat(top), [torch.cat(rows) for rows in zip(*kept)]
