cospec data: x.npy: no such file, no named corpus (wordnet, bible-kjv, gcide, manpages, foldoc, glyphs, emoji, scenes, field) and no synthetic corpus (markov:..., hmm:..., grammar:..., field:...)
