# SPDX-License-Identifier: Apache-2.0
"""face_landmark_with_attention.tflite, which LiteRT cannot run, in mediapipe 0.10.14 itself and on NAIVE: the seven
outputs of one picture are the same to 2e-6 of the largest.

    mediapipe_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import pathlib
import subprocess
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "golden")]
import packages  # noqa: E402

MODEL = "mediapipe/modules/face_landmark/face_landmark_with_attention.tflite"
OUTPUTS = ["output_mesh_identity", "output_lips", "output_left_eye", "output_right_eye", "output_left_iris",
           "output_right_iris", "conv_faceflag"]
SIDE, TOLERANCE = 192, 2e-6
# Behind "import": mediapipe itself asks for packages that this does not need.
INSTALLED = "numpy; __import__('importlib.metadata').metadata.version('mediapipe')"
WANTED = ["--no-deps", "mediapipe==0.10.14", "absl-py", "attrs", "flatbuffers", "protobuf<5", "numpy<2"]
GRAPH = """
input_stream: "image"
node { calculator: "ImageToTensorCalculator" input_stream: "IMAGE:image" output_stream: "TENSORS:given"
  options { [mediapipe.ImageToTensorCalculatorOptions.ext] {
    output_tensor_width: SIDE output_tensor_height: SIDE output_tensor_float_range { min: 0.0 max: 1.0 } } } }
node { calculator: "TfLiteCustomOpResolverCalculator" output_side_packet: "OP_RESOLVER:resolver" }
node { calculator: "LocalFileContentsCalculator" input_side_packet: "FILE_PATH:path"
  output_side_packet: "CONTENTS:bytes"
  options { [mediapipe.LocalFileContentsCalculatorOptions.ext] { text_mode: false } } }
node { calculator: "TfLiteModelCalculator" input_side_packet: "MODEL_BLOB:bytes" output_side_packet: "MODEL:model" }
node { calculator: "InferenceCalculator" input_stream: "TENSORS:given" output_stream: "TENSORS:made"
  input_side_packet: "MODEL:model" input_side_packet: "OP_RESOLVER:resolver"
  options { [mediapipe.InferenceCalculatorOptions.ext] { delegate { tflite {} } } } }
node { calculator: "SplitTensorVectorCalculator" input_stream: "made" SPLIT
  options { [mediapipe.SplitVectorCalculatorOptions.ext] { RANGES } } }
"""


def graph_text():
    places = range(len(OUTPUTS))
    text = GRAPH.replace("SIDE", str(SIDE)).replace("SPLIT", " ".join(f'output_stream: "one{i}"' for i in places))
    text = text.replace("RANGES", " ".join(f"ranges {{ begin: {i} end: {i + 1} }}" for i in places))
    for i in places:
        text += (f'output_stream: "floats{i}"\nnode {{ calculator: "TensorsToFloatsCalculator" '
                 f'input_stream: "TENSORS:one{i}" output_stream: "FLOATS:floats{i}" }}\n')
    return text


def run_mediapipe(picture):
    """(path of the model, {output: floats})."""
    import numpy as np
    for name in ("cv2", "matplotlib", "matplotlib.pyplot", "jax"):  # which its drawing needs, and this does not
        sys.modules[name] = types.ModuleType(name)
    from google.protobuf import text_format
    import mediapipe
    from mediapipe.calculators.core import split_vector_calculator_pb2  # noqa: F401
    from mediapipe.calculators.tensor import image_to_tensor_calculator_pb2  # noqa: F401
    from mediapipe.calculators.tensor import inference_calculator_pb2  # noqa: F401
    from mediapipe.calculators.util import local_file_contents_calculator_pb2  # noqa: F401
    from mediapipe.framework import calculator_pb2
    from mediapipe.python import _framework_bindings as bindings
    from mediapipe.python import packet_creator, packet_getter
    root = pathlib.Path(mediapipe.__file__).parents[1]
    config = text_format.Parse(graph_text(), calculator_pb2.CalculatorGraphConfig())
    graph = bindings.calculator_graph.CalculatorGraph(graph_config=config)
    found = {}
    for i, output in enumerate(OUTPUTS):
        graph.observe_output_stream(f"floats{i}", lambda _, packet, output=output: found.update(
            {output: np.array(packet_getter.get_float_list(packet))}))
    graph.start_run({"path": packet_creator.create_string(str(root / MODEL))})
    frame = bindings.image_frame.ImageFrame(image_format=bindings.image_frame.ImageFormat.SRGB, data=picture)
    graph.add_packet_to_input_stream("image", packet_creator.create_image_frame(frame).at(1))
    graph.close_all_packet_sources()
    graph.wait_until_done()
    return root / MODEL, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "mediapipe", WANTED, ["absl", "attr", "google.protobuf", INSTALLED])
    import numpy as np
    work = options.work / "mediapipe_work"
    work.mkdir(parents=True, exist_ok=True)
    waves = 60 * np.sin(np.arange(SIDE) / 17)[:, None, None] + 40 * np.cos(np.arange(SIDE) / 23)[None, :, None]
    noise = np.random.default_rng(3).normal(128, 30, (SIDE, SIDE, 3))
    picture = np.clip(noise + waves, 0, 255).astype(np.uint8)
    model, found = run_mediapipe(picture)
    np.save(work / "input_1.npy", (picture[None] / np.float32(255)).astype(np.float32))
    subprocess.run([f"{options.bin}/model_run", "-m", str(model), "-d", "NAIVE", "-i", f"input_1={work}/input_1.npy",
                    "-o", str(work / "ours.npz")], check=True, capture_output=True)
    failed = 0
    with np.load(work / "ours.npz") as ours:
        for output in OUTPUTS:
            wanted = found[output]
            off = np.abs(ours[output].ravel() - wanted).max() / np.abs(wanted).max()
            failed += not off <= TOLERANCE
            print(f"{output}: {wanted.size} values, off by {off:.1e} of the largest")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
