#!/usr/bin/env python3
"""Trains small models of SentencePiece on this repository's documents, and writes what the library makes of texts with them.

    apt-get install sentencepiece python3-sentencepiece      (0.1.97 of Debian 12 wrote what lies here)
    tests/data/sentencepiece/make.py
"""
import glob, json, os, subprocess, tempfile

import sentencepiece

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
COMMON = ["--hard_vocab_limit=false", "--character_coverage=0.99", "--minloglevel=2", "--num_threads=1"]
MODELS = {
    # Like Llama 2's: no normalization; unknown characters become bytes.
    "bytes": ["--model_type=bpe", "--vocab_size=500", "--byte_fallback", "--normalization_rule_name=identity",
               "--remove_extra_whitespaces=false"],
    # Like T5's, with the library's largest normalization, and user-defined pieces.
    "folded": ["--model_type=unigram", "--vocab_size=400", "--normalization_rule_name=nmt_nfkc_cf",
               "--user_defined_symbols=<sep>,the"],
}
TEXTS = [
    "", " ", "  ", "   a", "a   ", "  a  b  ", "\n", "a\nb\n\nc", "\t a", "A language model goes on with a text.",  # words: ok
    "The converter writes the lowest version that covers what the blob uses.", "  indented\n    twice\n",
    "\u2581a \u2581 b", "\ufb01ne \ufb03 \u2460\u2461\u2462 \uff71\uff8a\uff9f\uff70\uff84 \u212b A\u030a", "e\u0301 \u00e9 \u1eb9\u0308\u0301",
    "of thesepthe<sep> <sep>x<sep>", "THE the The", "    four", "\ud55c\uad6d\uc5b4 \uac00\ub098\ub2e4 \u1100\u1161\u11a8",
    "\U0001d4b3\U0001d4ce \U0001f600\U0001f44d\U0001f3fd \U0001f469\u200d\U0001f469\u200d\U0001f467",
    "zero\u200bwidth\ufeffbom", "\u00ad\u200e\u3000ideographic", "\u0001\u007f", "x" * 300, "\u00c4\u00d6\u00dc\u00df \u1e9e \u0130",
    "\u00bd \u338f \u330d \u2026", "\u0627\u0301 \ufdfa \ufefb", "\u039f\u0394\u039f\u03a3 \u03c2", "\u0939\u093f\u0928\u094d\u0926\u0940",
]


def main():
    lines = []
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "*.md"))):
        with open(path, encoding="utf-8") as f:
            lines += [line for line in f.read().split("\n") if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        corpus = os.path.join(folder, "corpus.txt")
        with open(corpus, "w", encoding="utf-8") as f:
            f.write("\n".join(lines + TEXTS[-20:]) + "\n")
        for name, options in MODELS.items():
            prefix = os.path.join(folder, name)
            subprocess.run(["spm_train", "--input=" + corpus, "--model_prefix=" + prefix, *COMMON, *options], check=True)
            os.replace(prefix + ".model", os.path.join(HERE, name + ".model"))
            model = sentencepiece.SentencePieceProcessor(model_file=os.path.join(HERE, name + ".model"))
            ids = [model.encode(text) for text in TEXTS]
            rows = [{"text": t, "ids": i, "decoded": model.decode(i)} for t, i in zip(TEXTS, ids)]
            with open(os.path.join(HERE, name + ".json"), "w", encoding="ascii") as f:
                f.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
