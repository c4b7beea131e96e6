"""cospec finetune --head spans against transformers' ...ForQuestionAnswering, torch's AdamW and SQuAD's scorer.

Predicted spans: random models of three classes, saved by transformers, are evaluated with --epochs 0. Windows are those of the `tokenizers`
package (truncation of the second text with a stride), outputs those of the class, one window at a time, and of all spans the
best is taken: spans and their scores against none must agree. Scores: the definition of evaluate-v2.0.py, written out below.

Training: all windows in one batch, no dropout; losses of every step against torch's of the same recipe. Outputs are of order one in
float32: 1e-4 is some hundred roundings.
"""
import collections
import csv
import json
import os
import random
import re
import string
import sys
import tempfile

import numpy as np
from harness import Checks, cospec
import tokenizers
import torch
import transformers

transformers.utils.logging.disable_progress_bar()
LENGTH, STRIDE, LONGEST = 24, 5, 7
FIRST = "Anna Bob (Carol) Dora Eve's Frank, Gaël Hélène Ivan Jo-Ann".split()
PLACE = "Rome the Hague, Paris. London York Nîmes Ürümqi Łódź a an Oslo (1859–1941)".split()


def corpus(count, seed):
    """Paragraphs of sentences "X lives in Y.", some long, questions of them, a third without an answer."""
    rng, data = random.Random(seed), []
    for p in range(count):
        people = rng.sample(FIRST, rng.randint(1, 5))
        where = {x: " ".join(rng.sample(PLACE, rng.randint(1, 2))) for x in people}
        context = "  ".join(f"{x} lives in {y} and\nlikes it there ." for x, y in where.items())
        qas = []
        for x in rng.sample(FIRST, 3):
            answers = []
            if x in where:
                start = context.index(f"{x} lives in {where[x]}") + len(f"{x} lives in ")
                answers = [{"text": where[x], "answer_start": start}]
                if rng.random() < 0.5:
                    answers.append({"text": where[x].split()[0], "answer_start": start})
            qas.append({"id": f"{seed}-{p}-{x}", "question": f"Where does {x} live?", "answers": answers,
                        "is_impossible": not answers})
        data.append({"title": "t", "paragraphs": [{"context": context, "qas": qas}]})
    return {"version": "v2.0", "data": data}


def questions(data):
    return [(q, p["context"]) for a in data["data"] for p in a["paragraphs"] for q in p["qas"]]


# --- the scorer ---------------------------------------------------------------------------------------------------

def normalise(text):
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1(gold, said):
    gold, said = normalise(gold).split(), normalise(said).split()
    if not gold or not said:
        return float(gold == said)
    same = sum((collections.Counter(gold) & collections.Counter(said)).values())
    return 0.0 if same == 0 else 2 * same / (len(gold) + len(said))


def scores(data, answers):
    rows = []
    for q, _ in questions(data):
        gold = [a["text"] for a in q["answers"] if normalise(a["text"])] or [""]
        rows.append((bool(q["answers"]), max(float(normalise(g) == normalise(answers[q["id"]])) for g in gold),
                     max(f1(g, answers[q["id"]]) for g in gold)))
    mean = lambda k, keep: float(np.mean([r[k] for r in rows if keep(r[0])]))
    every, has = (lambda h: True), (lambda h: h)
    return {"exact": mean(1, every), "f1": mean(2, every), "exact-answered": mean(1, has), "f1-answered": mean(2, has),
            "exact-unanswerable": mean(1, lambda h: not h)}


# --- models -------------------------------------------------------------------------------------------------------

def tokenizer_of(arch, text):
    if arch == "bert":
        t = tokenizers.BertWordPieceTokenizer(lowercase=True)
        t.train_from_iterator(text, vocab_size=120, min_frequency=1, show_progress=False)
        t = t._tokenizer
        at = lambda name: (name, t.token_to_id(name))
        t.post_processor = tokenizers.processors.BertProcessing(at("[SEP]"), at("[CLS]"))
        return t
    t = tokenizers.Tokenizer(tokenizers.models.BPE())
    t.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = tokenizers.decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    t.train_from_iterator(text, tokenizers.trainers.BpeTrainer(
        vocab_size=320, special_tokens=special, show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    at = lambda name: (name, t.token_to_id(name))
    if arch == "roberta":
        t.post_processor = tokenizers.processors.RobertaProcessing(at("</s>"), at("<s>"))
    return t


def model_of(arch, vocab, seed):
    size = dict(vocab_size=vocab, hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
                max_position_embeddings=LENGTH + 4)
    if arch == "gpt2":
        m = transformers.GPT2ForQuestionAnswering(transformers.GPT2Config(
            vocab_size=vocab, n_positions=LENGTH + 2, n_embd=12, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=2))
    elif arch == "bert":
        m = transformers.BertForQuestionAnswering(transformers.BertConfig(**size))
    else:
        m = transformers.RobertaForQuestionAnswering(transformers.RobertaConfig(**size, type_vocab_size=1, pad_token_id=1))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in m.named_parameters():
            p.copy_(0.3 * torch.randn(p.shape, generator=generator) + (1 if p.dim() == 1 and name.endswith("weight") else 0))
    return m.eval()


def windows(t, arch, data):
    """(question's number, ids, types, byte spans of context rows by row) of each window."""
    out = []
    if arch == "gpt2":
        t.post_processor = tokenizers.processors.TemplateProcessing(
            single="$A", pair="$A </s> $B:1 </s>:1", special_tokens=[("</s>", t.token_to_id("</s>"))])
    for n, (q, context) in enumerate(questions(data)):
        special = t.num_special_tokens_to_add(True)
        budget = LENGTH - special - len(t.encode(q["question"], add_special_tokens=False).ids)
        t.enable_truncation(LENGTH, stride=budget - min(STRIDE, budget), strategy="only_second")
        e = t.encode(q["question"], context)
        for w in [e] + e.overflowing:
            rows = {i: span for i, (s, span) in enumerate(zip(w.sequence_ids, w.offsets)) if s == 1}
            out.append((n, w.ids, w.type_ids, rows))
    return out


def trimmed(context, span):
    a, b = span
    while a < b and context[a].isspace():
        a += 1
    return a, b


def outputs(m, arch, w, grad=False):
    given = {"input_ids": torch.tensor([w[1]])}
    if arch == "bert":
        given["token_type_ids"] = torch.tensor([w[2]])
    with torch.set_grad_enabled(grad):
        o = m(**given)
    return o.start_logits[0], o.end_logits[0]


def none_row(arch, w):
    return len(w[1]) - 1 if arch == "gpt2" else 0


def decoded(m, arch, data, all_w):
    """The best span of each question, and the score of none less its."""
    answers, odds = {}, {}
    for n, (q, context) in enumerate(questions(data)):
        best, none, text = -np.inf, np.inf, ""
        for w in all_w:
            if w[0] != n:
                continue
            s, e = (x.double().numpy() for x in outputs(m, arch, w))
            none = min(none, s[none_row(arch, w)] + e[none_row(arch, w)])
            rows = sorted(w[3])
            for i in rows:
                for j in range(i, min(i + LONGEST, rows[-1] + 1)):
                    if s[i] + e[j] > best:
                        best = s[i] + e[j]
                        text = context[trimmed(context, w[3][i])[0]:w[3][j][1]]
        odds[q["id"]] = none - best
        answers[q["id"]] = text
    return answers, odds


def word_spans(context):
    """Words as BERT's pre-tokenizer parts them."""
    pieces = tokenizers.pre_tokenizers.BertPreTokenizer().pre_tokenize_str(context)
    return [span for _, span in pieces]


def that(checks, name, holds, why):
    checks.run(name, lambda: None if holds else why)


def check(arch, checks, folder):
    train, test = corpus(12, 1), corpus(10, 2)
    text = [c for _, c in questions(train)] + [q["question"] for q, _ in questions(train)]
    t = tokenizer_of(arch, text)
    m = model_of(arch, t.get_vocab_size(), 3)
    home = os.path.join(folder, arch)
    m.save_pretrained(home)
    t.save(os.path.join(home, "tokenizer.json"))
    files = {}
    for name, data in (("train", train), ("test", test)):
        files[name] = os.path.join(folder, f"{name}.json")
        json.dump(data, open(files[name], "w", encoding="utf-8"))
    given = {"head": "spans", "max_length": LENGTH, "stride": STRIDE, "max_answer": LONGEST, "seeds": 1, "seed": 5,
             "dropout": 0, "special": "no" if arch == "gpt2" else "yes"}
    own = windows(t, arch, test)
    if arch == "bert":  # bytes of a piece are those of its word
        contexts = [word_spans(c) for _, c in questions(test)]
        word = lambda n, span: next(w for w in contexts[n] if w[0] <= span[0] < w[1])
        own = [(n, i, y, {r: word(n, x) for r, x in rows.items()}) for n, i, y, rows in own]
    want, far = decoded(m, arch, test, own)
    level = sorted(far.values())[len(far) // 2 - 1:len(far) // 2 + 1]
    threshold = sum(level) / 2  # half of the questions are given none
    want = {k: "" if far[k] > threshold else x for k, x in want.items()}
    asked = cospec("finetune", home, files["train"], files["test"], o=os.path.join(folder, arch + "-asked"), epochs=0,
                   null_threshold=threshold, **given)
    left = os.path.join(folder, arch + "-asked", "runs", "seed-5")
    said = json.load(open(os.path.join(left, "predictions.json"), encoding="utf-8"))
    odds = json.load(open(os.path.join(left, "null_odds.json"), encoding="utf-8"))
    off = max(abs(far[k] - odds[k]) for k in far)
    that(checks, f"{arch}: windows", asked["windows_test"] == len(own) > len(far), f"{asked['windows_test']} for {len(own)}")
    that(checks, f"{arch}: scores against none", off < 1e-4 < level[1] - level[0], f"off by {off:.2g}, {level}")
    wrong = [k for k in want if want[k] != said[k]]
    that(checks, f"{arch}: predicted spans", not wrong and "" in said.values(), f"{[(want[k], said[k]) for k in wrong[:3]]}")
    right = scores(test, said)
    got = {x["name"]: x["value"] for x in asked["metrics"]}
    that(checks, f"{arch}: exact and f1", got.keys() == right.keys() and max(abs(got[k] - right[k]) for k in got) < 1e-12,
         f"{got} for {right}")
    train_parity(arch, m, t, train, files, home, folder, given, checks)


def train_parity(arch, m, t, train, files, home, folder, given, checks):
    all_w = windows(t, arch, train)
    asked = questions(train)
    steps, rate = 4, 1e-3
    cospec("finetune", home, files["train"], files["test"], o=os.path.join(folder, arch + "-taught"), epochs=steps, batch=len(all_w),
           lr=rate, schedule="constant", warmup=0, log_every=1, **given)
    rows = list(csv.DictReader(open(os.path.join(folder, arch + "-taught", "runs", "seed-5", "log.csv"))))
    bytes_of = {n: word_spans(c) for n, (_, c) in enumerate(asked)}
    targets = []
    for n, ids, types, places in all_w:
        q, context = asked[n]
        none = none_row(arch, (n, ids))
        hit = []
        if q["answers"]:
            a = q["answers"][0]["answer_start"]
            b = a + len(q["answers"][0]["text"])
            span = (lambda s: next(w for w in bytes_of[n] if w[0] <= s[0] < w[1])) if arch == "bert" else (lambda s: trimmed(context, s))
            hit = [i for i, s in places.items() if max(span(s)[0], a) < min(span(s)[1], b)]
            # the answer may go on beyond the window
            whole = sum(max(x[0], a) < min(x[1], b) for x in whole_context(t, arch, context, bytes_of[n]))
            hit = hit if len(hit) == whole else []
        targets.append((min(hit), max(hit)) if hit else (none, none))
    optimiser = torch.optim.AdamW(m.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-6, weight_decay=0)
    worst = 0.0
    for step in range(steps):
        optimiser.zero_grad()
        loss = 0
        for w, (a, b) in zip(all_w, targets):
            s, e = outputs(m, arch, w, True)
            loss = loss + (torch.logsumexp(s, 0) - s[a] + torch.logsumexp(e, 0) - e[b]) / 2 / len(all_w)
        worst = max(worst, abs(float(rows[step]["loss"]) - loss.item()) / loss.item())
        loss.backward()
        optimiser.step()
    that(checks, f"{arch}: losses of training", len(rows) == steps and worst < 1e-4, f"off by {worst:.2g}, {rows[0]['loss']} first")
    that(checks, f"{arch}: some windows hold their answer", 0 < sum(a != none_row(arch, w) for w, (a, _) in zip(all_w, targets)) < len(all_w), "")


def whole_context(t, arch, context, words):
    t.no_truncation()
    spans = t.encode(context, add_special_tokens=False).offsets
    return [next(w for w in words if w[0] <= s[0] < w[1]) for s in spans] if arch == "bert" else [trimmed(context, s) for s in spans]


checks = Checks("spans")
with tempfile.TemporaryDirectory() as folder:
    for arch in ("bert", "roberta", "gpt2"):
        check(arch, checks, folder)
checks.exit()
