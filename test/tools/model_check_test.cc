// SPDX-License-Identifier: Apache-2.0
// model_check, model_run, model_info and device_info as users call them.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "device/cpu/cpu_name.h"
#include "tools/command.h"

namespace plumb {
namespace {

using Json = nlohmann::json;

const std::string kFaults = PLUMB_TEST_DATA "/faults/faults.tnnproto";
const std::string kNetworks = PLUMB_TEST_DATA "/networks/";

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string LastLine(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  const size_t begin = end == std::string::npos ? std::string::npos : text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

// The parts of JSON Schema that check.schema.json uses.
void Validate(const Json& schema, const Json& value, const Json& root, const std::string& where) {
  if (schema.contains("$ref")) {
    const std::string ref = schema["$ref"];
    return Validate(root["$defs"][ref.substr(ref.rfind('/') + 1)], value, root, where);
  }
  if (schema.contains("const")) {
    EXPECT_EQ(value, schema["const"]) << where;
  }
  if (schema.contains("enum")) {
    EXPECT_NE(std::find(schema["enum"].begin(), schema["enum"].end(), value), schema["enum"].end()) << where << value;
  }
  const std::string type = schema.value("type", "");
  const bool fits = type.empty() || (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
                    (type == "string" && value.is_string()) || (type == "integer" && value.is_number_integer()) ||
                    (type == "number" && value.is_number()) || (type == "boolean" && value.is_boolean());
  ASSERT_TRUE(fits) << where << " is no " << type << ": " << value;
  for (const auto& name : schema.value("required", Json::array()))
    EXPECT_TRUE(value.contains(name)) << where << " lacks " << name;
  if (schema.contains("properties")) {
    for (const auto& [name, part] : schema["properties"].items()) {
      if (value.contains(name)) Validate(part, value[name], root, where + "/" + name);
    }
  }
  if (schema.contains("items")) {
    for (const auto& item : value) Validate(schema["items"], item, root, where + "/[]");
  }
}

TEST(ModelCheck, AlignedNetworkExitsZeroAndSaysSo) {
  const std::string folder = TestFolder("check");
  const auto run =
      RunTool("model_check", "-m " + kFaults + " -d NAIVE --json " + folder + "/r.json --csv " + folder + "/r.csv");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "NAIVE: all aligned: 23 aligned, 0 grey, 0 wrong, 0 not tested of 23 steps (23 layers)"))
      << run.out;
  EXPECT_TRUE(Has(run.out, "weights generated")) << run.out;
  EXPECT_TRUE(Has(run.out, "top-1 is the same")) << run.out;
  const Json report = Json::parse(ReadText(folder + "/r.json"));
  const Json schema = Json::parse(ReadText(PLUMB_TEST_DATA "/../../doc/check.schema.json"));
  Validate(schema, report, schema, "");
  EXPECT_EQ(report["$schema"], schema["$id"]);
  EXPECT_EQ(report["runs"][0]["layers"].size(), 23u);
  EXPECT_EQ(report["runs"][0]["first_wrong"], nullptr);
  const std::string csv = ReadText(folder + "/r.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 24);
}

TEST(ModelCheck, GflagsStyleWorks) {
  const auto run = RunTool("model_check", "-p=" + kFaults + " -d=NAIVE -sp HIGH -th 1 --quiet");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "warning: the weights are generated")) << run.out;  // on stderr, also with --quiet
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 3) << "the warning, one line per device, the last line\n"
                                                                 << run.out;
  EXPECT_EQ(LastLine(run.out).find("ALIGNED: NAIVE aligned; 23 of 23 steps, "), 0u) << run.out;
  EXPECT_TRUE(Has(LastLine(run.out), ", 1 of 1 outputs; weights generated (exit 0)")) << run.out;
}

TEST(ModelCheck, HeadroomRunsTheReferenceAlone) {
  const std::string folder = TestFolder("headroom");
  const auto run = RunTool("model_check", "-m " + kFaults + " --headroom --json " + folder + "/h.json");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "f16, sums in it, in the order of the weights: ")) << run.out;
  const Json report = Json::parse(ReadText(folder + "/h.json"));
  EXPECT_EQ(report["format"], "plumb-headroom");
  EXPECT_EQ(report["layers"].size(), 23u);
  EXPECT_EQ(report["keep_f32"].size(), 6u);
  // Inputs of a million: what is beyond f16 must stay in f32, and no less where sums count, too.
  const auto large = RunTool(
      "model_check", "-m " + kFaults + " --headroom --input-range 900000,1000000 --json " + folder + "/large.json");
  EXPECT_EQ(large.exit_code, 0) << large.out;
  const Json kept = Json::parse(ReadText(folder + "/large.json"))["keep_f32"];
  EXPECT_GE(kept[0]["layers"].size(), 1u);
  EXPECT_GE(kept[1]["layers"].size(), kept[0]["layers"].size());
  EXPECT_GE(kept[2]["layers"].size(), kept[1]["layers"].size());
  const auto refused = RunTool("model_check", "-m " + kFaults + " --headroom -d NAIVE");
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "no device runs")) << refused.out;
}

TEST(ModelCheck, GeneratedWeightsAreAWarning) {
  const std::string folder = TestFolder("generated_weights"), digits = PLUMB_EXAMPLES "/digits/digits.tnn";
  WriteText(folder + "/alone.tnnproto", ReadText(digits + "proto"));
  const std::string why = "warning: the weights are generated (there is no tnnmodel beside '" + folder +
                          "/alone.tnnproto'; philox4x32-10 v1, seed 1)";
  for (const std::string tool : {"model_check -d NAIVE", "model_run -d NAIVE", "model_info"}) {
    const size_t space = std::min(tool.find(' '), tool.size());
    const auto alone =
        RunTool(tool.substr(0, space), tool.substr(space) + " -m " + folder + "/alone.tnnproto 2>&1 >/dev/null #");
    EXPECT_EQ(alone.exit_code, 0) << alone.out;
    EXPECT_EQ(alone.out.find(why), 0u) << alone.out;
    EXPECT_FALSE(Has(RunTool(tool.substr(0, space), tool.substr(space) + " -m " + digits + "proto").out, "generated ("))
        << tool;
  }
  const auto run = RunTool("model_run", "-d NAIVE -m " + folder + "/alone.tnnproto");
  const std::string last = "with generated weights: the outputs are not those of the trained network\n";
  ASSERT_GT(run.out.size(), last.size());
  EXPECT_EQ(run.out.substr(run.out.size() - last.size()), last);
}

TEST(ModelCheck, SaysWhenADeviceLacksThePrecision) {
  const auto run = RunTool("model_check", "-m " + kFaults + " -d NAIVE -sp LOW --quiet");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "NAIVE does not have the precision asked for and runs HIGH (f32)")) << run.out;
}

TEST(ModelCheck, NothingComparedIsNotAligned) {
  const std::string folder = TestFolder("constant");
  WriteText(folder + "/n.tnnproto",
            "\"1 2 1 4206624772 ,\"\n\"x 4 1 1 1 4 0 ,\"\n\" x y ,\"\n\"y ,\"\n\" 1 ,\"\n\"ReLU r 1 1 x y ,\"\n");
  const auto run = RunTool("model_check", "-m " + folder + "/n.tnnproto -d NAIVE --input-range -3,-2");
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_TRUE(Has(run.out, "all values are zero on both sides")) << run.out;
  EXPECT_TRUE(Has(run.out, "NOT TESTED: nothing could be compared")) << run.out;
}

// The JSON says what the last line says, also where nothing could be checked.
TEST(ModelCheck, LastLineExitCodeAndJsonAgree) {
  const std::string folder = TestFolder("agree");
  const Json schema = Json::parse(ReadText(PLUMB_TEST_DATA "/../../doc/check.schema.json"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"-m " + kFaults + " -d NAIVE", "aligned"},
      {"-m " + kFaults + " -d NAIVE -e", "aligned"},
      {"-m " + kFaults + " -d NAIVE --input-range 0,0", ""},
      {"-m " + kFaults + " -d NAIVE,ARM --precision NORMAL", "error"},
      {"-m " + kFaults + " -d CUDA", "error"},
      {"-m nowhere.onnx", "error"},
      {"-m " + kFaults + " -d NAIVE --min-tested 2", "error"},
  };
  for (const auto& [arguments, verdict] : cases) {
    const auto run = RunTool("model_check", arguments + " --json " + folder + "/r.json");
    const Json report = Json::parse(ReadText(folder + "/r.json"));
    Validate(schema, report, schema, arguments);
    EXPECT_EQ(report["summary"], LastLine(run.out)) << run.out;
    EXPECT_EQ(report["exit_code"], run.exit_code) << run.out;
    if (!verdict.empty()) {
      EXPECT_EQ(report["verdict"], verdict) << run.out;
    }
    EXPECT_EQ(report["tool"].get<std::string>().find("Plumb "), 0u);
  }
  ASSERT_EQ(
      RunTool("model_check", "-m " + kFaults + " -d NAIVE,ARM --precision NORMAL --quiet --json " + folder + "/r.json")
          .exit_code,
      3);
  const Json report = Json::parse(ReadText(folder + "/r.json"));
  EXPECT_EQ(report["precision"], "NORMAL");
  EXPECT_EQ(report["runs"][0]["precision"], "HIGH") << "NAIVE has no other";
  EXPECT_EQ(report["devices"][0]["state"], "ran");
  EXPECT_EQ(report["devices"][1]["state"], "failed");
  EXPECT_EQ(report["devices"][1]["exit_code"], 3);
  EXPECT_TRUE(Has(report["devices"][1]["error"], "ARM")) << report["devices"];
}

// Point 10: a device of ALL that has no kernel for float64 is skipped, and one that is named fails.
TEST(ModelCheck, ADeviceOfAllThatLacksAKernelIsSkipped) {
  const std::string path = ::testing::TempDir() + "plumb_model_check_f64.tnnproto";
  std::ofstream(path)
      << "\"1 2 1 4206624772 ,\"\n\"x 4 1 2 3 3 256 ,\"\n\" ,\"\n\"y ,\"\n\" 1 ,\"\n\"Exp e 1 1 x y ,\"\n";
  const std::string values = ::testing::TempDir() + "plumb_model_check_f64.txt";
  std::ofstream(values) << "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n";
  const auto all = RunTool("model_check", "-m " + path + " -i " + values);
  if (!Has(all.out, "OPENCL")) GTEST_SKIP() << "every device here has kernels for float64";
  EXPECT_EQ(all.exit_code, 0) << all.out;
  EXPECT_TRUE(Has(all.out, "OPENCL: skipped: no kernel for Exp (layer ")) << all.out;
  EXPECT_EQ(LastLine(all.out).find("ALIGNED: "), 0u) << all.out;
  const auto named = RunTool("model_check", "-m " + path + " -i " + values + " -d OPENCL");
  EXPECT_EQ(named.exit_code, 2) << named.out;
  EXPECT_EQ(LastLine(named.out).find("ERROR: OPENCL failed: "), 0u) << named.out;
}

TEST(ModelCheck, TnnsQuantisedNetworksRun) {
  const auto run = RunTool("model_check", "-m " + kNetworks + "quant_mobilenet_v1.tnnproto -d NAIVE," + kCpuDevice);
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(LastLine(run.out), "90 of 90 steps")) << run.out;
}

TEST(ModelCheck, OneLayerAloneOnADevice) {
  const auto run = RunTool("model_check", "-m " + kFaults + " -d NAIVE --layers relu6");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "1 aligned, 0 grey, 0 wrong, 0 not tested of 1 steps (23 layers), only those named; "))
      << run.out;
  const auto unknown = RunTool("model_check", "-m " + kFaults + " -d NAIVE --layers relu66");
  EXPECT_EQ(unknown.exit_code, 2) << unknown.out;
  EXPECT_TRUE(Has(unknown.out, "no layer 'relu66' to judge")) << unknown.out;
}

// Point 17: a folder per device, and its size at the end.
TEST(ModelCheck, SeveralDevicesDumpToFoldersOfTheirOwn) {
  const std::string folder = TestFolder("dumps");
  const auto dump = [&](const std::string& devices) {
    return RunCommand("cd " + folder + " && DUMP_OUTPUT_BLOB=1 " PLUMB_BIN_DIR "/model_check -m " + kFaults + " -d " +
                      devices);
  };
  const auto one = dump("NAIVE");
  EXPECT_EQ(one.exit_code, 0) << one.out;
  EXPECT_TRUE(Has(one.out, "\ndump    plumb_dump: 23 files, ")) << one.out;
  const auto two = dump("NAIVE,ARM");
  EXPECT_EQ(two.exit_code, 3) << two.out;
  EXPECT_TRUE(Has(two.out, "\ndump    plumb_dump-NAIVE: 23 files, ")) << two.out;
  EXPECT_FALSE(ReadText(folder + "/plumb_dump-NAIVE/manifest.json").empty());
  EXPECT_FALSE(Has(two.out, "holds a dump already")) << two.out;
}

TEST(ModelCheck, ColourIsForTerminalsOrAskedFor) {
  const std::string common = "-m " + kFaults + " -d NAIVE --quiet";
  EXPECT_FALSE(Has(RunTool("model_check", common).out, "\033["));
  EXPECT_TRUE(Has(RunTool("model_check", common + " --color always", "NO_COLOR=1").out, "\033[1;32mALIGNED\033[0m: "));
}

TEST(ModelCheck, AReportFitsItsWidth) {
  for (const int width : {80, 120}) {
    const auto run = RunTool("model_check", "-m " + kFaults + " -d NAIVE", "COLUMNS=" + std::to_string(width));
    const std::string text = run.out.substr(0, run.out.find(LastLine(run.out)));
    size_t begin = 0;
    while (begin < text.size()) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      if (line.rfind("warning: ", 0) == 0) continue;  // of stderr
      EXPECT_TRUE(line.size() <= static_cast<size_t>(width) || line.find(' ', 8) == std::string::npos) << line;
    }
  }
}

TEST(ModelCheck, EveryMistakeHasASentenceAndACode) {
  const std::string faults = kFaults, absent = std::string(kCpuDevice) == "ARM" ? "X86" : "ARM";
  const std::vector<std::pair<std::string, std::pair<int, std::string>>> cases = {
      {"", {2, "which model? give it with -m"}},
      {"-m nowhere.tnnproto", {2, "nowhere.tnnproto"}},
      {"-m " + faults + " -d CUDA", {2, "unknown device 'CUDA'; the devices are NAIVE"}},
      {"-m " + faults + " -d NAIVE,CUDA", {2, "unknown device 'CUDA'; the devices are NAIVE"}},
      {"-m " + faults + " -d " + absent, {3, "device " + absent + " is"}},
      {"-m " + faults + " --frobnicate", {2, "--frobnicate"}},
      {"-m " + faults + " --shape nope=1,3,8,8", {2, "'nope'"}},
      {"-m " + faults + " --shape data=1,x", {2, "expected NAME=1,3,224,224"}},
      {"-m " + faults + " --shape data=1,3,500000,100000", {2, "no memory for a tensor [1,3,500000,100000]"}},
      {"-m " + faults + " -i nowhere.npy", {2, "nowhere.npy"}},
      {"-m " + faults + " --input-range 3,1", {2, "LO,HI"}},
      {"-m " + faults + " --max-isa MMX", {2, "MMX"}},
      {"-m " + faults + " --kernel conv", {2, "--kernel: expected LAYER=KERNEL, found 'conv'"}},
      {"-m " + faults + " -d " + kCpuDevice + " --kernel nobody=affine", {2, "'nobody'"}},
      {"-m " + faults + " -f ref.txt", {2, "give that input with -i"}},
      {"-m " + faults + " --precision EXACT", {2, "EXACT"}},
      {"-m " + faults + " --min-tested half", {2, "--min-tested: expected a share such as 0.5 or 50%, found 'half'"}},
      {"-m " + faults + " --color sometimes", {2, "--color: expected auto, always or never, found 'sometimes'"}},
      {"-p " + faults + " -m nowhere.tnnmodel", {2, "nowhere.tnnmodel"}},
  };
  for (const auto& [arguments, expected] : cases) {
    const auto run = RunTool("model_check", arguments);
    EXPECT_EQ(run.exit_code, expected.first) << arguments << "\n" << run.out;
    EXPECT_TRUE(Has(run.out, expected.second)) << arguments << "\n" << run.out;
  }
}

TEST(ModelRun, HoldsEveryKernelToAnIsa) {
  if (std::string(kCpuDevice) != "X86") GTEST_SKIP() << "64-bit ARM has one";
  const auto run = RunTool("model_run", "-m " + std::string(kFaults) + " -d X86 --max-isa SSE41 --profile");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "at most AVX2, ISA SSE41")) << run.out;
  EXPECT_EQ(run.out.find("jit:avx"), std::string::npos) << run.out;
}

TEST(ModelCheck, OutputsOnlyAgainstAFile) {
  const std::string folder = TestFolder("outputs");
  const std::string input = folder + "/in.npy";
  // An input file, its outputs, then the comparison; a changed reference is wrong.
  ASSERT_EQ(RunTool("model_run", "-m " + kFaults + " -d NAIVE -o " + folder + "/first.npy").exit_code, 0);
  std::string values;
  for (int i = 0; i < 3 * 40 * 40; ++i) values += std::to_string(0.001 * (i % 997)) + "\n";
  WriteText(folder + "/in.txt", values);
  ASSERT_EQ(
      RunTool("model_run", "-m " + kFaults + " -d NAIVE -i " + folder + "/in.txt -o " + folder + "/ref.npy").exit_code,
      0);
  const std::string common = "-m " + kFaults + " -d NAIVE -i " + folder + "/in.txt ";
  const auto same = RunTool("model_check", common + "-e -f " + folder + "/ref.npy -do " + folder + "/pairs");
  EXPECT_EQ(same.exit_code, 0) << same.out;
  EXPECT_EQ(ReadText(folder + "/pairs/cpu_prob.txt"), ReadText(folder + "/pairs/device_prob.txt"));
  EXPECT_FALSE(ReadText(folder + "/pairs/cpu_prob.txt").empty());
  const auto other = RunTool("model_check", common + "-e -f " + folder + "/first.npy");
  EXPECT_EQ(other.exit_code, 1) << other.out;
  const auto layers = RunTool("model_check", common + "-f " + folder + "/first.npy");
  EXPECT_EQ(layers.exit_code, 1) << "layers are aligned, the reference is not: " << layers.out;
  const auto batch = RunTool("model_check", common + "-e -b");
  EXPECT_EQ(batch.exit_code, 0) << batch.out;
  EXPECT_TRUE(Has(batch.out, "batch 1")) << batch.out;
}

TEST(ModelCheck, LayerFilesOfWhichNoneExistCompareNothing) {
  const auto run = RunTool("model_check", "-m " + kFaults + " -a " + TestFolder("none") + "/");
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_TRUE(Has(run.out, "0 blobs compared, 0 wrong, 23 without a file")) << run.out;
}

TEST(ModelRun, PrintsTnnsTimingLineAndWritesItsText) {
  const std::string folder = TestFolder("run");
  const auto run =
      RunTool("model_run", "-mp " + kFaults + " -dt NAIVE -ic 3 -wc 1 -op " + folder + "/out.txt --profile");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "time cost: min = ")) << run.out;
  EXPECT_TRUE(Has(run.out, "median = ")) << run.out;
  EXPECT_EQ(ReadText(folder + "/out.txt").substr(0, 38), "1\nprob mat_type: 32 dims: 4 1 40 1 1\n0");
}

TEST(ModelRun, ProfileSaysWhichKernelsRefused) {
  const std::string folder = TestFolder("profile"), json = folder + "/run.json";
  const std::string words = "-m " + kFaults + " -d " + kCpuDevice + " --profile";
  const auto brief = RunTool("model_run", words + " --json " + json);
  EXPECT_EQ(brief.exit_code, 0) << brief.out;
  EXPECT_TRUE(Has(brief.out, "-v adds the kernels that were asked before")) << brief.out;
  EXPECT_FALSE(Has(brief.out, "refused by ")) << brief.out;
  const auto whole = RunTool("model_run", words + " -v");
  EXPECT_TRUE(Has(whole.out, "refused by convolution_winograd: ")) << whole.out;
  EXPECT_TRUE(Has(ReadText(json), "\"convolution_winograd: ")) << ReadText(json);
}

TEST(ModelRun, TnnTestsOptionsAreHonouredOrRefused) {
  const std::string common = "-mp " + kFaults + " -dt NAIVE ";
  EXPECT_EQ(RunTool("model_run", common + "-dl 0 -it 0 -nt NAIVE -mt TNN").exit_code, 0);
  for (const char* bad : {"-it 3", "-it 1", "-mt NCNN", "-nt TRT", "-ic 0", "-wc -1", "-dl 9999", "-ip nowhere.txt",
                          "-lp x", "-sc 1", "-bi 0"}) {
    EXPECT_EQ(RunTool("model_run", common + bad).exit_code, 2) << bad;
  }
}

TEST(ModelRun, PlainInputsNeedTheirNumbers) {
  const std::string path = TestFolder("plain") + "/v.txt", common = "-mp " + kFaults + " -dt NAIVE -ip " + path;
  std::ofstream(path) << "1 2 three";
  const auto few = RunTool("model_run", common);
  EXPECT_EQ(few.exit_code, 2) << few.out;
  EXPECT_TRUE(Has(few.out, "numbers, 9 bytes hold 5 at most")) << few.out;
  std::ofstream(path) << "three" << std::string(1 << 20, ' ');
  const auto none = RunTool("model_run", common);
  EXPECT_EQ(none.exit_code, 2) << none.out;
  EXPECT_TRUE(Has(none.out, "numbers, number 1 is missing")) << none.out;
}

// Weights are held once, and Winograd's algorithm adds little to those of few layers: 1.13 times the weights beside the
// blobs, programs and libraries (1.45 where large layers kept all factors). What these take a small network shows: 20
// MB, 29 with oneDNN 3.7.
TEST(ModelRun, TakesLittleMoreMemoryThanTheModel) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's own memory is counted";
#endif
  const std::string file = TestFolder("memory") + "/run.json";
  if (RunTool("model_run", "-m " PLUMB_EXAMPLES "/digits/digits.tnnproto -d X86 --json " + file).exit_code == 3)
    GTEST_SKIP() << "no X86 here";
  const Json small = Json::parse(ReadText(file))["memory"];
  const auto run = RunTool("model_run", "-m " + kNetworks + "resnet50.tnnproto -d X86 --json " + file);
  ASSERT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "memory  the model's weights 102.1 MB, blobs ")) << run.out;
  const Json memory = Json::parse(ReadText(file))["memory"];
  const double weights = memory["weight_bytes"], blobs = memory["blob_bytes"], peak = memory["peak_bytes"];
  EXPECT_GT(peak, weights + blobs);
  EXPECT_LT(peak - small["peak_bytes"].get<double>(), 1.2 * weights + blobs) << memory.dump() << small.dump();
}

TEST(ModelInfo, DescribesQuantisedModelsToo) {
  const auto run = RunTool("model_info", "-m " + kNetworks + "quant_mobilenet_v1.tnnproto");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "QuantizedConvolution")) << run.out;
  const auto text = RunTool("model_info", "-m " + kNetworks + "resnet50.tnnproto");
  EXPECT_TRUE(Has(text.out, "123 layers")) << text.out;
}

TEST(Tools, HelpTeachesAndVersionIsSaid) {
  for (const char* tool : {"model_check", "model_run", "model_info", "device_info"}) {
    const auto help = RunTool(tool, "--help");
    EXPECT_EQ(help.exit_code, 0) << tool;
    EXPECT_TRUE(Has(help.out, "Examples:")) << tool;
    EXPECT_TRUE(Has(help.out, "Exit codes:")) << tool;
    EXPECT_EQ(RunTool(tool, "--version").out.find(std::string(tool) + " "), 0u) << tool;
  }
}

TEST(Tools, HelpFitsAnOldTerminal) {
  for (const char* tool :
       {"model_check", "model_run", "model_convert", "model_info", "blob_diff", "device_info", "device_check"}) {
    for (const char* words : {"--help", "--help all"}) {
      std::istringstream lines(RunTool(tool, words, "COLUMNS=80").out);
      int count = 0;
      for (std::string line; std::getline(lines, line); ++count)
        EXPECT_TRUE(line.size() <= 80u || Has(line, "--program")) << tool << ", one command: " << line;
      EXPECT_GT(count, 10) << tool;
      if (words == std::string("--help")) {
        EXPECT_LE(count, 25) << tool << ": a terminal of 25 lines holds it";
      }
    }
  }
}

TEST(Tools, HelpBeginsWithTheModel) {
  for (const char* tool :
       {"model_check", "model_run", "model_convert", "model_info", "device_check", "model_reduce", "model_bisect"}) {
    const std::string brief = RunTool(tool, "--help").out, all = RunTool(tool, "-h all").out;
    for (const std::string& help : {brief, all}) {
      const size_t model = help.find("  -m, --model");
      ASSERT_NE(model, std::string::npos) << help;
      EXPECT_LT(model, help.find("--", model + 12)) << "the first option\n" << help;
      EXPECT_EQ(help.substr(0, model).find("  --"), std::string::npos) << help;
    }
    EXPECT_TRUE(Has(brief, std::string("All options: ") + tool + " --help all")) << brief;
    EXPECT_LE(std::count(brief.begin(), brief.end(), '\n'), 25) << brief;
    EXPECT_TRUE(Has(all, "--constant") && !Has(brief, "--max-memory") && Has(all, "--max-memory")) << all;
  }
}

TEST(ModelInfo, SumsUpByTypeAndListsFewLayers) {
  const std::string model = "-m " + kNetworks + "resnet50.tnnproto";
  const auto brief = RunTool("model_info", model);
  EXPECT_TRUE(Has(brief.out, "type ") && Has(brief.out, "Convolution ")) << brief.out;
  EXPECT_TRUE(Has(brief.out, "123 layers (--all shows each)")) << brief.out;
  EXPECT_FALSE(Has(brief.out, "00122")) << brief.out;
  EXPECT_TRUE(Has(RunTool("model_info", model + " --all").out, "00122"));
  EXPECT_TRUE(Has(RunTool("model_info", "-m " + kFaults).out, "00001")) << "few layers are listed";
}

TEST(DeviceInfo, ListsAllFive) {
  const auto run = RunTool("device_info", "");
  for (const char* name : {"NAIVE", "X86", "ARM", "OPENCL", "VULKAN"}) EXPECT_TRUE(Has(run.out, name)) << run.out;
  EXPECT_EQ(RunTool("device_info", "", "PLUMB_MAX_CPU_ISA=PENTIUM").exit_code, 2);
}

// One binary runs with and without a driver.
TEST(ModelCheck, OpenclWithoutADriverIsSaid) {
  const CommandResult run = RunTool("model_check", "-m " + kFaults + " -d OPENCL", "OCL_ICD_VENDORS=/nonexistent");
  EXPECT_EQ(run.exit_code, 3) << run.out;
  EXPECT_TRUE(Has(run.out, "install") || Has(run.out, "not built in")) << run.out;
}

TEST(ModelCheck, DeviceIndexNeedsADeviceWithAdapters) {
  const CommandResult run = RunTool("model_check", "-m " + kFaults + " -d NAIVE --device-index 1");
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_TRUE(Has(run.out, "--device-index 1")) << run.out;
}

}  // namespace
}  // namespace plumb
