// SPDX-License-Identifier: Apache-2.0
// One vocabulary over all tools, through their real command lines: every tool with every common spelling, TNN's among
// them; what is misspelt, what would do nothing, and where output goes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/command.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A network of one layer, with its (empty) weights elsewhere, an input and a picture-less folder.
struct Files {
  explicit Files(const std::string& test) : folder(TestFolder(test)), model(folder + "/n.tnnproto") {
    WriteText(model,
              "\"1 2 1 4206624772 ,\"\n\"x 4 1 1 2 4 0 ,\"\n\" x y ,\"\n\"y ,\"\n\" 1 ,\"\n\"ReLU r 1 1 x y ,\"\n");
    WriteText(folder + "/v.txt", "1\n-2\n3\n-4\n5\n-6\n7\n8\n");
    fs::create_directories(folder + "/stages");
    WriteText(folder + "/stages/x.txt", "1\n2\n");
    WriteText(folder + "/stages/manifest.json",
              R"({"files": [{"file": "x.txt", "blob": "scores", "shape": [1, 2], "dtype": "f32"}]})");
  }
  std::string folder, model;
};

// What stands on stdout alone.
std::string Stdout(const std::string& tool, const std::string& arguments, int* exit_code) {
  FILE* pipe = popen((PLUMB_BIN_DIR "/" + tool + " " + arguments + " 2>/dev/null </dev/null").c_str(), "r");
  std::string out;
  char buffer[4096];
  for (size_t count; (count = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) out.append(buffer, count);
  *exit_code = pclose(pipe) >> 8;
  return out;
}

void ExpectExit(int code, const std::string& tool, const std::string& arguments, const std::string& part = "") {
  const CommandResult run = RunTool(tool, arguments);
  EXPECT_EQ(run.exit_code, code) << tool << " " << arguments << "\n" << run.out;
  EXPECT_TRUE(Has(run.out, part)) << tool << " " << arguments << "\nexpected: " << part << "\n" << run.out;
}

// How a tool is called without the word that is tested: "@" stands for the model by place.
struct Tool {
  const char* name;
  const char* others;
  bool reads_model, runs_devices, draws_inputs;
};
const Tool kTools[] = {
    {"model_check", " -d NAIVE -q", true, true, true},
    {"model_run", " -d NAIVE -q", true, true, true},
    {"model_info", " -q", true, false, false},
    {"model_convert", " -q -o $/out", true, false, false},
    {"device_check", " -d NAIVE -q --device-folder $/there --binaries " PLUMB_BIN_DIR, true, true, true},
    {"blob_diff", " $/v.txt $/v.txt", false, false, false},
    {"stage_diff", " $/stages $/stages -q", false, false, false},
    {"device_info", "", false, false, false}};

std::string Filled(std::string text, const Files& files) {
  for (const auto& [mark, value] : {std::pair('@', files.model), {'$', files.folder}}) {
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, 1, value);
  }
  return text;
}

std::string Others(const Tool& tool, const Files& files, const std::string& without) {
  std::string text = Filled(tool.others, files);
  for (const char* word : {" -d NAIVE", " -q"}) {
    const size_t at = Has(word, without) ? text.find(word) : std::string::npos;
    if (at != std::string::npos) text.replace(at, std::string(word).size(), "");
  }
  return text;
}

TEST(Vocabulary, EveryToolReadsEverySpellingOfTheModel) {
  const Files files("words_model");
  ASSERT_EQ(RunTool("model_convert", files.model + " -o " + files.folder + "/w").exit_code, 0);
  for (const Tool& tool : kTools) {
    for (const char* words : {"-m @",
                              "--model @",
                              "--model=@",
                              "-m=@",
                              "-p @",
                              "--proto @",
                              "-mp @",
                              "--mp=@",
                              "-model @",
                              "@",
                              "-p @ -m $/w.tnnmodel",
                              "@ $/w.tnnmodel",
                              "$/w.tnnmodel @",
                              "$/w.tnnmodel",
                              "-m $/w.tnnmodel",
                              "@ -m $/w.tnnmodel",
                              "-mt TNN -mp @",
                              "-m @ --shape x=1,1,2,4",
                              "-m @ -is x[1,1,2,4]",
                              "-m @ -in x:1,1,2,4",
                              "-m @ --seed 3",
                              "-m @ -seed=3"}) {
      if (!tool.reads_model) continue;
      ExpectExit(0, tool.name, Filled(words, files) + Others(tool, files, "none"));
    }
    if (!tool.reads_model) continue;
    ExpectExit(2, tool.name, Filled("@ -m @", files) + Others(tool, files, "none"), "the model is named twice");
    ExpectExit(2, tool.name, Filled("@ @", files) + Others(tool, files, "none"), "the model is named twice");
    ExpectExit(2, tool.name, Filled("@ $/w.tnnmodel -x", files), "unknown option '-x'");
    ExpectExit(2, tool.name, Others(tool, files, "none"), "which model?");
    ExpectExit(2, tool.name, "gone.tnnmodel" + Others(tool, files, "none"), "there is no 'gone.tnnproto'");
    ExpectExit(2, tool.name, Filled("@ -mt ONNX", files) + Others(tool, files, "none"), "is none by its suffix");
    ExpectExit(2, tool.name, Filled("@ -mt NCNN", files) + Others(tool, files, "none"), "convert it first");
  }
}

TEST(Vocabulary, EveryToolReadsEverySpellingOfTheRest) {
  const Files files("words_rest");
  for (const Tool& tool : kTools) {
    const std::string model = tool.reads_model ? files.model : "";
    const bool takes_device =
        tool.runs_devices || std::string(tool.name) == "model_info" || std::string(tool.name) == "device_info";
    for (const char* words : {"-d NAIVE", "-dt NAIVE", "--device=naive", "--dt NAIVE", "-d=NAIVE"}) {
      if (takes_device) ExpectExit(0, tool.name, model + " " + words + Others(tool, files, "NAIVE"));
    }
    for (const char* words : {"-q", "--quiet", "-quiet", "--quiet=true"}) {
      ExpectExit(0, tool.name, model + " " + words + Others(tool, files, "-q"));
    }
    ExpectExit(0, tool.name, model + Others(tool, files, "none") + " --json " + files.folder + "/a.json");
    ExpectExit(0, tool.name, model + Others(tool, files, "none") + " -json=" + files.folder + "/b.json");
    EXPECT_TRUE(nlohmann::json::accept(ReadText(files.folder + "/a.json"))) << tool.name;
    EXPECT_TRUE(nlohmann::json::accept(ReadText(files.folder + "/b.json"))) << tool.name;
    for (const char* words :
         {"--precision HIGH", "-sp HIGH", "-pr=AUTO", "-t 1", "-th 1", "--threads=1", "-di 0", "--fallback"}) {
      if (tool.runs_devices) ExpectExit(0, tool.name, model + Others(tool, files, "none") + " " + words);
    }
    for (const char* words : {"--input-range -1,1", "--input_range=-1,1", "-input-range -1 1", "-i $/v.txt",
                              "-i x=$/v.txt", "--input=$/v.txt", "-input_file $/v.txt"}) {
      if (tool.draws_inputs) ExpectExit(0, tool.name, model + Others(tool, files, "none") + " " + Filled(words, files));
    }
    for (const char* words : {"-h", "-help", "--help", "--version"}) ExpectExit(0, tool.name, words);
  }
}

TEST(Vocabulary, TnnTestsCommandLineRuns) {
  const Files files("words_tnntest");
  ExpectExit(0, "model_run",
             Filled("-mt TNN -nt NAIVE -mp @ -dt NAIVE -ic 2 -wc 1 -ip $/v.txt -op $/out.txt -fc -th 1 -it 0 -pr AUTO "
                    "-di 0 -dl 0",
                    files));
  EXPECT_EQ(ReadText(files.folder + "/out.txt"),
            "1.000000\n0.000000\n3.000000\n0.000000\n5.000000\n0.000000\n7.000000\n8.000000\n");
  ASSERT_EQ(RunTool("model_convert", files.model + " -o " + files.folder + "/w").exit_code, 0);
  ExpectExit(0, "model_check",
             Filled("-p @ -m $/w.tnnmodel -i $/v.txt -f $/out.txt -e -d NAIVE -sp HIGH -do $/pairs", files));
}

TEST(Vocabulary, ListsTakeCommasSpacesAndRepeats) {
  const Files files("words_lists");
  for (const char* words : {"-d NAIVE,ARM", "-d NAIVE ARM", "-d NAIVE -d ARM", "-d naive,arm", "-dt NAIVE ARM"}) {
    const CommandResult run = RunTool("device_info", words);
    EXPECT_EQ(run.exit_code, 0) << words << run.out;
    EXPECT_TRUE(Has(run.out, "\nNAIVE ") && Has(run.out, "\nARM ") && !Has(run.out, "\nX86 ")) << words << run.out;
  }
  for (const char* words : {"-d NAIVE @", "-d NAIVE NAIVE @", "@ -d NAIVE -d NAIVE"})
    ExpectExit(0, "model_check", Filled(words, files), "NAIVE: all aligned");
  ExpectExit(2, "model_info", files.model + " -d NAIVE OPNCL", "did you mean 'OPENCL'?");
  ExpectExit(2, "model_run", files.model + " -d NAIVE -i xx=" + files.folder + "/v.txt",
             "there is no network input 'xx', the network inputs are 'x'");
  // Two inputs: files and shapes by spaces, repeats; files by commas too.
  const std::string two = files.folder + "/two.tnnproto";
  WriteText(two,
            "\"1 3 1 4206624772 ,\"\n\"a 4 1 1 2 4 0 : b 4 1 1 2 4 0 ,\"\n\" a b y ,\"\n\"y ,\"\n\" 1 ,\"\n\"Add s 2 1 "
            "a b y ,\"\n");
  for (const char* words : {"-i a=$/v.txt b=$/v.txt %", "-i a=$/v.txt,b=$/v.txt %", "% -i a=$/v.txt -i b=$/v.txt",
                            "--shape a=1,1,2,4 b=1,1,2,4 %", "--shape \"a=1,1,2,4;b=1,1,2,4;\" %",
                            "% --shape a=1,1,2,4 --shape b=1,1,2,4", "-is a[1,1,2,4] b[1,1,2,4] %"}) {
    std::string filled = Filled(words, files);
    filled.replace(filled.find('%'), 1, two);
    ExpectExit(0, "model_run", filled + " -d NAIVE");
  }
}

// "-i a.npy --json=report" took the report that was there already for one more input of that name.
TEST(Vocabulary, AnOptionWhoseFileExistsEndsTheList) {
  const Files files("words_end");
  WriteText(files.folder + "/r.json", "of an earlier run");
  ExpectExit(0, "model_run", Filled("@ -d NAIVE -q -i $/v.txt --json=$/r.json", files));
  EXPECT_TRUE(Has(ReadText(files.folder + "/r.json"), "plumb-model-run"));
}

TEST(Vocabulary, MisspeltWordsAreSuggested) {
  const Files files("words_misspelt");
  WriteText(files.folder + "/i.png", "");
  for (const Tool& tool : kTools) {
    ExpectExit(2, tool.name, "--json ''", "--json needs a value");
    ExpectExit(2, tool.name, "--json", "--json needs a value");
    ExpectExit(2, tool.name, "-= x --", "unknown option");
    ExpectExit(2, tool.name, "--josn x", "did you mean '--json'?");
    ExpectExit(2, tool.name, "--quite", "did you mean '--quiet'?");
    ExpectExit(2, tool.name, "--zzzzzz", "unknown option '--zzzzzz'; see " + std::string(tool.name) + " --help");
    if (tool.reads_model) ExpectExit(2, tool.name, "--modle x", "did you mean '--model'?");
    if (tool.runs_devices) ExpectExit(2, tool.name, "--precison HIGH", "did you mean '--precision'?");
  }
  const std::pair<const char*, std::pair<const char*, const char*>> values[] = {
      {"model_check", {"@ --precision HIHG", "'HIGH'"}},
      {"model_run", {"@ --precision NORMALL", "'NORMAL'"}},
      {"model_check", {"@ -d VULCAN", "'VULKAN'"}},
      {"model_run", {"@ -d OPENGL", "'OPENCL'"}},
      {"device_info", {"-d NAVE", "'NAIVE'"}},
      {"model_info", {"@ -d X68", "'X86'"}},
      {"model_check", {"@ -e --rule cosin", "'cosine'"}},
      {"model_check", {"@ --subject $ --layout NHWD", "'NHWC'"}},
      {"model_check", {"@ --subject $ --arithmetic fp61", "'fp16'"}},
      {"model_check", {"@ --color alway", "'always'"}},
      {"model_check", {"@ -i $/i.png --channel-order bgt", "'bgr'"}},
      {"model_check", {"@ --max-isa AVX51", "'AVX512'"}},
      {"model_check", {"@ --algorithms direkt", "'direct'"}},
      {"model_convert", {"@ -o $/o --align=output", "'outputs'"}},
      {"blob_diff", {"$/v.txt $/v.txt --dtype f33", "'f32'"}},
      {"blob_diff", {"$/v.txt $/v.txt --rule allclos", "'allclose'"}}};
  for (const auto& [tool, call] : values) {
    ExpectExit(2, tool, Filled(call.first, files), "did you mean " + std::string(call.second) + "?");
  }
  EXPECT_EQ(RunTool("device_info", "", "PLUMB_CACHEDIR=/tmp").exit_code, 2);
  EXPECT_EQ(RunTool("device_info", "", "DUMP_CORE=1").exit_code, 0);
}

TEST(Vocabulary, OptionsThatWouldDoNothingAreErrors) {
  const Files files("words_useless");
  const std::pair<const char*, const char*> calls[] = {{"model_check", "@ --rule tnn"},
                                                       {"model_check", "@ --atol 1"},
                                                       {"model_check", "@ --rtol 1"},
                                                       {"model_check", "@ -b --rtol 1"},
                                                       {"model_check", "@ -e --rule tnn --atol 1"},
                                                       {"model_check", "@ --names x.csv"},
                                                       {"model_check", "@ --pair-by-order"},
                                                       {"model_check", "@ --layout NCHW"},
                                                       {"model_check", "@ --tensors a=1"},
                                                       {"model_check", "@ --arithmetic fp16"},
                                                       {"model_check", "@ --golden $ --arithmetic fp16"},
                                                       {"model_check", "@ -n 1"},
                                                       {"model_check", "@ -s 1 -i $/v.txt"},
                                                       {"model_check", "@ --channel-order bgr"},
                                                       {"model_check", "@ -i $/v.txt --input-range 0,1"},
                                                       {"model_check", "@ --subject $ --precision LOW"},
                                                       {"model_check", "@ --subject $ --fallback"},
                                                       {"model_check", "@ -e --full"},
                                                       {"model_check", "@ -e --csv $/c.csv"},
                                                       {"model_check", "@ -e -du $/x"},
                                                       {"model_check", "@ -a $/ -e"},
                                                       {"model_run", "@ -fc"},
                                                       {"model_run", "@ -fc -o $/o.npy"},
                                                       {"model_run", "@ -n 1"},
                                                       {"model_run", "@ -ip $/v.txt -i $/v.txt"},
                                                       {"model_run", "@ -ip $/v.txt --input-range 0,1"},
                                                       {"model_run", "@ -lp x"},
                                                       {"model_convert", "@ -o $/o -d X86"},
                                                       {"model_convert", "@ -o $/o -i $/v.txt"},
                                                       {"model_convert", "@ -o $/o --align-inputs 2"},
                                                       {"model_convert", "@ -o $/o --align-tolerance 1"},
                                                       {"model_convert", "@ -o $/o --input-range 0,1"},
                                                       {"model_convert", "@ -o $/o -half"},
                                                       {"blob_diff", "$ $ --shape 1,2"},
                                                       {"blob_diff", "$ $ --dtype f32"},
                                                       {"blob_diff", "$/v.txt $/v.txt --rule tnn --rtol 1"}};
  for (const auto& [tool, words] : calls) {
    const CommandResult run = RunTool(tool, Filled(words, files));
    EXPECT_EQ(run.exit_code, 2) << tool << " " << words << "\n" << run.out;
    EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1) << tool << " " << words << "\n" << run.out;
  }
  EXPECT_FALSE(fs::exists(files.folder + "/o.tnnproto"));
  const std::string dump = files.folder + "/dump";
  ASSERT_EQ(
      RunTool("model_run", files.model + " -d NAIVE", "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + dump)
          .exit_code,
      0);
  ExpectExit(0, "model_check", files.model + " -q --subject " + dump);
  ExpectExit(2, "model_check", files.model + " --subject " + dump + " --input-range 0,1", "--input-range does nothing");
}

TEST(Outputs, DashIsStandardOutputAndNothingElseIs) {
  const Files files("words_stdout");
  for (const Tool& tool : kTools) {
    const std::string call = (tool.reads_model ? files.model : "") + Others(tool, files, "-q");
    int code = -1;
    const std::string json = Stdout(tool.name, call + " --json -", &code);
    EXPECT_EQ(code, 0) << tool.name;
    EXPECT_TRUE(nlohmann::json::accept(json)) << tool.name << "\n" << json;
    EXPECT_GT(RunTool(tool.name, call + " --json -").out.size(), json.size())
        << "the report is on stderr: " << tool.name;
  }
  int code = -1;
  const std::string csv = Stdout("model_check", files.model + " -d NAIVE --csv -", &code);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2) << csv;
  EXPECT_EQ(Stdout("model_run", files.model + " -d NAIVE -i " + files.folder + "/v.txt -fc -o -", &code),
            "1.000000\n0.000000\n3.000000\n0.000000\n5.000000\n0.000000\n7.000000\n8.000000\n");
  ExpectExit(2, "model_check", files.model + " --json - --csv -", "would both write '-'");
  ExpectExit(2, "model_check", files.model + " --json a --csv a", "would both write 'a'");
}

// Each call names a model that is missing: the sentence is of the path, so nothing was loaded.
TEST(Outputs, PathsAreTriedBeforeTheWork) {
  const Files files("words_paths");
  fs::create_directories(files.folder + "/d.json");
  WriteText(files.folder + "/file", "");
  const std::string name(300, 'n');
  const std::pair<const char*, std::string> calls[] = {{"model_check", "gone.tnnproto --json $/no/r.json"},
                                                       {"model_check", "gone.tnnproto --json $/d.json"},
                                                       {"model_check", "gone.tnnproto --csv $/file/r.csv"},
                                                       {"model_check", "gone.tnnproto --json $/" + name},
                                                       {"model_check", "gone.tnnproto --json /proc/r.json"},
                                                       {"model_check", "gone.tnnproto -do $/no/d"},
                                                       {"model_check", "gone.tnnproto -du $/file"},
                                                       {"model_run", "gone.tnnproto -o $/no/o.npy"},
                                                       {"model_run", "gone.tnnproto -o $/d.json"},
                                                       {"model_run", "gone.tnnproto --json $/no/r.json"},
                                                       {"model_info", "gone.tnnproto --json $/no/r.json"},
                                                       {"model_convert", "gone.tnnproto -o $/no/o"},
                                                       {"model_convert", "gone.tnnproto -o $/no/o.tnnproto"},
                                                       {"model_convert", "gone.tnnproto -od $/no"},
                                                       {"model_convert", "gone.tnnproto -o $/o.onnx"},
                                                       {"device_info", "--json $/no/r.json"},
                                                       {"blob_diff", "gone gone --json $/no/r.json"},
                                                       {"blob_diff", "gone gone --csv $/d.json"}};
  for (const auto& [tool, words] : calls) {
    const CommandResult run = RunTool(tool, Filled(words, files));
    EXPECT_EQ(run.exit_code, 2) << tool << " " << words << "\n" << run.out;
    EXPECT_FALSE(Has(run.out, "model 'gone")) << tool << " " << words << "\n" << run.out;
    EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1) << tool << " " << words << "\n" << run.out;
  }
}

TEST(Outputs, AFailedRunLeavesNoFileBehind) {
  const Files files("words_left");
  const std::string out = files.folder + "/out";
  fs::create_directories(out);
  for (const std::string& words :
       {"model_run -o " + out + "/o.npz --json " + out + "/r.json",
        "model_convert -o " + out + "/c --json " + out + "/r.json", "model_info --json " + out + "/r.json",
        "model_check --csv " + out + "/r.csv --do " + out + "/pairs --du " + out + "/wrong"}) {
    const size_t space = words.find(' ');
    ExpectExit(2, words.substr(0, space), "-m " + files.folder + "/gone.tnnproto" + words.substr(space),
               "gone.tnnproto");
    EXPECT_TRUE(fs::is_empty(out)) << words << ": " << fs::directory_iterator(out)->path();
  }
}

TEST(Outputs, ModelConvertWritesWhatIsNamed) {
  const Files files("words_convert");
  const std::pair<const char*, const char*> calls[] = {{"-o $/a", "a"},          {"-o $/b.tnnproto", "b"},
                                                       {"-o $/c.tnnmodel", "c"}, {"-o $/sub/", "sub/n"},
                                                       {"-o $/sub2", "sub2/n"},  {"-od $/sub3", "sub3/n"}};
  for (const char* folder : {"sub", "sub2", "sub3"}) fs::create_directories(files.folder + "/" + folder);
  for (const auto& [words, name] : calls) {
    ExpectExit(0, "model_convert", files.model + " " + Filled(words, files));
    EXPECT_TRUE(fs::exists(files.folder + "/" + name + ".tnnproto") &&
                fs::exists(files.folder + "/" + name + ".tnnmodel"))
        << words;
  }
  ExpectExit(2, "model_convert", files.model, "-o PREFIX");
}

}  // namespace
}  // namespace plumb
