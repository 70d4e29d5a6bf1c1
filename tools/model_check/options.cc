#include "model_check/options.h"

namespace plumb {
namespace {

std::string Quoted(const std::string& text) {
  if (text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,=:") == std::string::npos && !text.empty()) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

void Options::AddTo(CommandLine* c) {
  model.AddTo(c);
  c->Group("Device");
  c->Add("-d,--device", &device, "NAIVE, X86, ARM, OPENCL, VULKAN, a list (X86,OPENCL) or ALL, the default (those present but NAIVE)");
  run.AddTo(c);
  input.AddTo(c);
  foreign.AddTo(c);
  files.AddTo(c);
  c->Group("Report");
  c->Flag("--full", &full, "every number of every layer");
  c->Add("--json", &json, "write the report as JSON (doc/check.md has the schema)");
  c->Add("--csv", &csv, "write one row per layer output as CSV");
  c->Flag("--quiet", &quiet, "only the last sentence of each device");
}

std::string Reproduce(const Options& o) {
  std::string text = "model_check";
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += std::string(" ") + name + " " + Quoted(value);
  };
  add("-p", o.model.proto);
  add("-m", o.model.model);
  for (const std::string& shape : o.model.shapes) add("--shape", shape);
  for (const std::string& constant : o.model.constants.texts) add("--constant", constant);
  for (const std::string& file : o.input.files) add("-i", file);
  add("-n", o.input.bias);
  add("-s", o.input.scale);
  if (o.input.channel_order != "rgb") add("--channel-order", o.input.channel_order);
  add("--input-range", o.input.range);
  add("--golden", o.foreign.golden);
  add("--names", o.foreign.names);
  if (o.foreign.pair_by_order) text += " --pair-by-order";
  add("--layout", o.foreign.layout);
  add("--arithmetic", o.foreign.arithmetic);
  for (const std::string& spec : o.foreign.tensors) add("--tensors", spec);
  add("--seed", std::to_string(o.model.seed));
  if (o.model.random_weights) text += " --random-weights";
  if (o.run.threads != 0) add("--threads", std::to_string(o.run.threads));
  add("--max-isa", o.run.max_isa);
  if (o.run.fallback) text += " --fallback";
  if (o.files.double_batch) text += " -b";
  return text;
}

}  // namespace plumb
