// SPDX-License-Identifier: Apache-2.0
#include "model_check/options.h"

#include <fmt/core.h>

#include <cstdlib>

#include "common/outputs.h"
#include "common/print.h"
#include "common/vocabulary.h"
#include "plumb/tool/baseline.h"
#include "plumb/tool/step_case.h"

namespace plumb {

// What only devices read does nothing where none runs.
Status Options::CheckDeviceOptions(const CommandLine& c) const {
  const bool subject_alone = !foreign.subject.empty() && device.empty();
  for (const char* option : {"--precision", "--fallback", "--device-index", "--algorithms", "--kernel", "--repeat",
                             "--poison", "--vary-threads", "--batch"}) {
    if (subject_alone && c.Given(option)) {
      return Status::InvalidArgument(std::string(option) + " does nothing without -d: a subject is judged as it is");
    }
  }
  if (!files.layer_files.empty() && !device.empty() && device != "NAIVE" && device != "naive")
    PrintError("note: -a compares NAIVE with the files, as TNN's does; -d {} is not run\n", device);
  return Status::Ok();
}

void Options::AddTo(CommandLine* c) {
  model.instead = &foreign.subject;
  model.AddTo(c);
  c->Group("Device");
  c->Add("--device", &device,
         "NAIVE, X86, ARM, OPENCL, VULKAN, a list (X86,OPENCL) or ALL, the default (those present but NAIVE)");
  run.AddTo(c);
  input.samples = &many.samples;
  input.AddTo(c);
  c->Check([this] {
    const bool given = !input.files.empty() || !many.samples.empty();
    if (!given && !model.case_folder.empty()) input.files.push_back(model.case_folder + "/inputs.npz");
    return Status::Ok();
  });
  many.AddTo(c);
  c->Flag("--probe", &probe, "draw many inputs and take the one that exercises the weakest layers most");
  c->Flag("--headroom", &headroom,
          "run the reference alone: how far values and partial sums are from what f16 and bf16 hold, and which layers "
          "must stay in f32");
  c->Add("--write-inputs", &inputs_to, "FILE.npz: also write the network inputs there, for another runtime");
  c->Add("--repeat", &repeat, "run each device so many times more, and note which step changes first");
  c->Flag("--poison", &poison,
          "run each device once more with NaN in all outputs and workspaces before each step, and note which step "
          "changes first");
  c->Add("--vary-threads", &vary_threads,
         "run each device once more with so many threads, and note which step changes first and whether it is within "
         "its bound");
  c->Add("--batch", &batch, "the same with the inputs so many times along axis 0");
  c->Add("--extract", &extract,
         "DIR: write the first guilty step (with --layers: that one) as a model of its own, with its inputs and "
         "outputs, what they should be, and for an .onnx an ONNX backend test");
  c->Add("--show", &show,
         "of --extract and --bundle: the runtime that show.py of an .onnx case judges: onnxruntime (the default), "
         "openvino, mnn, ncnn, torch, tract or opencv");
  c->Add("--bundle", &bundle,
         "FOLDER or FILE.zip: the whole case to hand over: reports, inputs, outputs, the guilty step, the environment; "
         "without paths, user and host names");
  c->Flag("--with-model", &with_model, "also put the model's files into the bundle");
  c->OnlyWith("--with-model", {"--bundle"});
  c->OnlyWith("--show", {"--extract", "--bundle"});
  c->Check([this] { return model.CheckShow(show); });
  c->Check([this] { return CheckCaseFolder(extract); });
  c->Check([this] {
    const bool file = EndsWith(bundle, ".zip");
    return bundle.empty() ? Status::Ok()
           : file         ? CheckOutputFile("--bundle", bundle)
                          : CheckOutputFolder("--bundle", bundle);
  });
  foreign.AddTo(c);
  files.AddTo(c);
  c->Group("Check");
  c->Add("--layers", &layers,
         "judge only the step that holds this layer (a name or an index), on its own inputs; may repeat");
  c->Add(
      "--min-tested", &min_tested,
      "share (50% or 0.5) of steps, of values and of multiply-adds that must be compared, and every output with them, "
      "or the run is \"not tested\"; 0: any");
  c->Flag("--no-source-lines", &no_source_lines,
          "leave out where the nodes of an .onnx were written, which names files of its exporter");
  AddReports(c);
  for (const char* of_layers : {"--full", "--all", "--layers", "--extract", "--bundle", "--html", "--repeat",
                                "--poison", "--vary-threads", "--batch", "--min-tested", "--csv", "--baseline"}) {
    c->NotWith(of_layers, {"--outputs-only", "--layer-files"}, "layers are not judged");
  }
  ManyArguments::AddRulesTo(c);
  for (const char* given : {"--input", "--input-range", "--subject"})
    c->NotWith("--probe", {given}, "it draws the network inputs");
  for (const char* other : {"--subject", "--golden"})
    c->NotWith(other, {"--layer-files"}, "-a compares NAIVE with files only");
  for (const char* other :
       {"--device",       "--subject",        "--golden",     "--outputs-only", "--layer-files",    "--layers",
        "--inputs",       "--baseline",       "--bundle",     "--extract",      "--repeat",         "--poison",
        "--vary-threads", "--batch",          "--csv",        "--junit",        "--markdown",       "--html",
        "--sarif",        "--model-explorer", "--full",       "--all",          "--min-tested",     "--precision",
        "--fallback",     "--device-index",   "--algorithms", "--kernel",       "--no-source-lines"})
    c->NotWith("--headroom", {other}, "no device runs, and no layer is judged");
  c->Check([=] { return CheckDeviceOptions(*c); });
  c->Brief({{"--model", "x.onnx, x.tflite, or x.tnnproto with its x.tnnmodel"},
            {"--device", "X86, OPENCL, a list, or ALL, which is the default"},
            {"--input", "x.npy, image.png, NAME=FILE; else inputs are generated"},
            {"--shape", "NAME=1,3,224,224, where the model leaves it open"},
            {"--subject", "DIR or FILE: judge what another runtime dumped"},
            {"--golden", "onnxruntime, litert, or what the original framework dumped"},
            {"--layers", "judge only the step that holds this layer"},
            {"--all", "show every step; --full: with every number"},
            {"--quiet", "one line per device and the last line"},
            {"--json", "write the report as JSON; also --csv, --junit, --markdown, --html"},
            {"--baseline", "fail where a layer is worse than this file says"}});
}

void Options::AddReports(CommandLine* c) {
  output.AddTo(c, "one line per device and the last line", "also the notes of loading, on stderr");
  c->Flag("--all", &all, "every step; otherwise those that are not aligned and the five nearest to their bounds");
  c->Flag("--full", &full, "every step with every number");
  c->Add("--json", &json, "write the report as JSON (doc/check.md has the schema)");
  c->Add("--csv", &csv, "write one row per layer output as CSV");
  c->Add("--junit", &junit, "write a test case per step and device as JUnit's XML");
  c->Add("--markdown", &markdown, "write a summary in Markdown, for a pull request or $GITHUB_STEP_SUMMARY");
  c->Add("--html", &html, "write a page for a browser: the graph coloured by E, and where and how each layer is off");
  c->Add("--sarif", &sarif, "write a result per step that is not aligned as SARIF 2.1.0, for code review tools");
  c->Add("--model-explorer", &model_explorer, "write E by tensor as node data of Google's Model Explorer");
  c->Add("--baseline", &baseline, "FILE: fail where a layer is worse than this says (verdict, E, R)");
  c->Flag("--update-baseline", &update_baseline, "write what is found into the file of --baseline");
  c->OnlyWith("--update-baseline", {"--baseline"});
  c->Add("--reason", &reason, "of --update-baseline: why layers that are wrong now may be; then they fail no more");
  c->Add("--until", &until, "2027-03-31: the last day on which that reason holds");
  c->OnlyWith("--reason", {"--update-baseline"});
  c->OnlyWith("--until", {"--reason"});
  c->Check([this] {
    return until.empty() || Baseline::IsDay(until)
               ? Status::Ok()
               : Status::InvalidArgument(fmt::format("--until: expected a day such as 2027-03-31, found '{}'", until));
  });
}

Result<double> Options::MinTested() const {
  char* end = nullptr;
  double share = std::strtod(min_tested.c_str(), &end);
  const std::string unit = end;
  if (unit == "%") share /= 100;
  if (end != min_tested.c_str() && (unit.empty() || unit == "%") && share >= 0 && share <= 1) return share;
  return Status::InvalidArgument(
      fmt::format("--min-tested: expected a share such as 0.5 or 50%, found '{}'", min_tested));
}

}  // namespace plumb
