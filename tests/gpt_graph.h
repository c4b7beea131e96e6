/* A training step of a GPT as a graph: the benchmark against PyTorch (bench/train_bench.c) and the
 * program of the GPU's first run (gpu/gpt.c) both time. Parameters in the order in which they are
 * added: words, positions, a block each (norm, qkv, projection, norm, up, down: matrix before bias,
 * gain before bias), the last norm; logits share the words. */
#pragma once

#include "tensor/graph.h"
#include "tensor/params.h"
#include "tensor/run.h"

typedef struct {
    int64_t layers, width, heads, vocabulary, batch, length;
} gpt_shape;

typedef struct {
    gpt_shape s;
    cs_graph graph;
    cs_params params;
    cs_run *run;
    int ids, places, vis, lim, target, weight, loss;
    double flops; /* of the matrix products executed in a step */
} gpt;

void gpt_build(gpt *g);  /* graph and params of `s`, with gradients */
void gpt_places(gpt *g); /* of a causal text: all that a run is fed but tokens and targets */
