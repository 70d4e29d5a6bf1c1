#include "model_check/options.h"

namespace plumb {
void Options::AddTo(CommandLine* c) {
  model.AddTo(c);
  c->Group("Device");
  c->Add("-d,--device", &device, "NAIVE, X86, ARM, OPENCL, VULKAN, a list (X86,OPENCL) or ALL, the default (those present but NAIVE)");
  run.AddTo(c);
  input.AddTo(c);
  foreign.AddTo(c);
  files.AddTo(c);
  output.AddTo(c, "one line per device and the last line", "also the notes of loading, on stderr");
  c->Flag("--full", &full, "every number of every layer");
  c->Add("--json", &json, "write the report as JSON (doc/check.md has the schema)");
  c->Add("--csv", &csv, "write one row per layer output as CSV");
}

}  // namespace plumb
