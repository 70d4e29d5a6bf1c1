# SPDX-License-Identifier: Apache-2.0
"""model_check --subject without -m on llama.cpp itself: a random Llama of two layers in a GGUF with nine types of
weights, twelve tokens at once and one more behind them, without and with flash attention over its cache of f16, which
is its default. Every operator is aligned. A row of the cache that a kernel does not see is named.

    llama_graph_test.py --bin build/release/bin --work build/release/golden_test llama
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parent / name) for name in ("hooks", "golden")] + [str(ROOT / "tools" / "python")]
import ggml_build  # noqa: E402
import packages  # noqa: E402

WIDTH, HEADS, KV_HEADS, SIZE, INNER, TOKENS = 256, 4, 2, 64, 512, 64
KINDS = ("Q4_K", "Q6_K", "Q8_0", "Q4_0", "F16", "BF16", "Q5_K", "Q8_0", "F32", "Q5_0", "Q6_K", "Q4_K", "Q4_0", "Q4_K")
# Blocks that Python's gguf cannot make are drawn: bytes of a block, where its scales stand, and their size.
DRAWN = {"Q4_K": (144, ((0, 3e-4), (2, 2e-3))), "Q5_K": (176, ((0, 1.5e-4), (2, 2e-3))), "Q6_K": (210, ((208, 5e-5),))}


def save_model(path):
    import gguf
    import numpy as np
    random = np.random.default_rng(5)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(128)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(2)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(SIZE)
    writer.add_vocab_size(TOKENS)
    writer.add_tokenizer_model("no_vocab")

    def add(name, rows, columns, kind):
        values = (random.standard_normal((rows, columns)) / 16).astype(np.float32)
        if kind == "F32":
            return writer.add_tensor(name, values)
        if kind not in DRAWN:
            return writer.add_tensor(name, gguf.quants.quantize(values, gguf.GGMLQuantizationType[kind]),
                                     raw_dtype=gguf.GGMLQuantizationType[kind])
        size, scales = DRAWN[kind]
        blocks = random.integers(0, 256, (rows, columns // 256, size), dtype=np.uint8)
        for at, scale in scales:
            drawn = (random.uniform(0.5, 1, (rows, columns // 256, 1)) * scale).astype(np.float16)
            blocks[:, :, at:at + 2] = drawn.view(np.uint8)
        return writer.add_tensor(name, blocks.reshape(rows, -1), raw_dtype=gguf.GGMLQuantizationType[kind])

    def norm(name):
        writer.add_tensor(name, random.uniform(0.5, 1.5, WIDTH).astype(np.float32))

    kinds = iter(KINDS)
    add("token_embd.weight", TOKENS, WIDTH, "Q8_0")
    for block in (f"blk.{i}." for i in range(2)):
        norm(block + "attn_norm.weight")
        norm(block + "ffn_norm.weight")
        for name, rows, columns in (("attn_q", HEADS * SIZE, WIDTH), ("attn_k", KV_HEADS * SIZE, WIDTH),
                                    ("attn_v", KV_HEADS * SIZE, WIDTH), ("attn_output", WIDTH, HEADS * SIZE),
                                    ("ffn_gate", INNER, WIDTH), ("ffn_up", INNER, WIDTH), ("ffn_down", WIDTH, INNER)):
            add(f"{block}{name}.weight", rows, columns, next(kinds))
    norm("output_norm.weight")
    add("output.weight", TOKENS, WIDTH, "Q6_K")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def check(options, folder, code=0):
    report = folder / "report.json"
    done = subprocess.run([f"{options.bin}/model_check", "--subject", folder, "--json", report], capture_output=True,
                          text=True)
    print(f"{folder}: {done.stdout.splitlines()[-1:]}")
    assert done.returncode == code, done.stdout + done.stderr
    return [layer for layer in json.loads(report.read_text())["runs"][0]["layers"] if layer["verdict"] != "aligned"]


def main():
    options = packages.begin("llama_graph", {"llama": (["gguf", "numpy"], ["gguf", "numpy"])})
    compiler = os.environ.get("CC") or shutil.which("gcc") or packages.skip("there is no gcc here")
    program = ggml_build.program(options.work / "ggml_source", ROOT, compiler, "ggml/llama_program.c", llama_too=True)
    save_model(options.folder / "net.gguf")

    def dump(flash, stale):
        folder = options.folder / f"flash_{flash}_stale_{stale}"
        done = subprocess.run([program, options.folder / "net.gguf", flash, stale], capture_output=True, text=True,
                              env={**os.environ, "DUMP_INPUT_BLOB": "1", "DUMP_OUTPUT_BLOB": "1",
                                   "DUMP_BLOB_FORWARDS": "0,1", "DUMP_BLOB_DIR": str(folder)})
        assert done.returncode == 0, done.stderr
        return folder

    for flash in ("0", "1"):
        folder = dump(flash, "0")
        for run in (folder, folder / "forward-00001"):
            for layer in check(options, run):  # views of a cache that is empty, so far
                assert layer["verdict"] == "not tested", layer
                assert "zero" in layer["reason"] or "cache" in layer["name"], layer
    wrong = check(options, dump("1", "1"), 1)
    assert [layer["type"] for layer in wrong] == ["FLASH_ATTN_EXT"] and wrong[0]["verdict"] == "wrong", wrong


if __name__ == "__main__":
    main()
