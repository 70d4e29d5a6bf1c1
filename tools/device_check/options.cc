// SPDX-License-Identifier: Apache-2.0
#include "device_check/options.h"

#include <fmt/core.h>

#include <cstdlib>
#include <utility>

#include "plumb/tool/environment.h"

namespace plumb {

void DeviceCheckOptions::AddMachines(CommandLine* c) {
  c->Group("Machines");
  c->Add("--adb", &adb, "a phone: its serial, as `adb devices` lists it; may repeat");
  c->Add("--ssh", &ssh,
         "a board: HOST, USER@HOST or ssh://USER@HOST:PORT, whose key is known and asks for nothing; may repeat. "
         "Neither: this machine, for an emulator");
  c->Add("--ssh-config", &ssh_config, "ssh's configuration file, in place of ~/.ssh/config");
  c->Add("--device-folder", &device_folder,
         "where files go there; default: /data/local/tmp/plumb (adb), ~/.cache/plumb-device");
  c->Add("--binaries", &binaries,
         "folder of model_check and model_run for the machine; default: build/arm64-static/bin beside this build "
         "(platforms/linux/arm64.sh --static makes it), or this build's own");
  c->Add("--runner", &runner, "put in front of them there: 'qemu-aarch64 -cpu cortex-a53'");
  c->Add("--timeout", &timeout, "seconds that one command there may take; 0: any");
  c->Add("--silence", &silence,
         "seconds without a word from there, after which it is asked whether it still answers; if not within as many, "
         "it is given up; 0: never");
  c->Flag("--clean", &clean, "remove all that device_check left there, and do nothing else");
}

void DeviceCheckOptions::AddDumps(CommandLine* c) {
  c->Group("Dumps, judged here");
  c->OneOf("--judge", &judge, {"there", "here"},
           "there: model_check runs there. here: model_run dumps there, part by part, and this machine judges; needs "
           "less memory and disk there");
  c->Add("--part-size", &part_size, "of a part of the dump, which is all that lies there at a time");
  c->Add("--program", &program,
         "in place of model_run: a command line of yours, for the shell there, whose program includes plumb_dump.h");
  c->Add("--push", &push, "a file that it needs, itself among them: put beside it under its own name; may repeat");
  c->Add("--output", &output_folder, "keep the dumps in this folder, one per machine; a run that was cut off goes on");
  words.AddTo(c);
  c->OnlyWith("--push", {"--program"});
  c->NotWith("--judge", {"--program"}, "what it dumped is judged here");
  c->NotWith("--part-size", {"--program"}, "the program runs once");
  c->NotWith("--binaries", {"--program"}, "the program runs in place of them");
  c->NotWith("--device", {"--program"}, "the program says what it runs on");
  c->Check([this] { return CheckModes(); });
}

// What a tool here would dump, device_check does not.
Status DeviceCheckOptions::CheckDumpVariables() const {
  for (const EnvironmentVariable& variable : EnvironmentVariables()) {
    const std::string name = variable.name;
    const char* value = std::getenv(variable.name);
    if (value == nullptr || *value == '\0' || name.rfind("PLUMB_", 0) == 0) continue;
    const bool chooses = name == "DUMP_INPUT_BLOB" || name == "DUMP_BLOB_LAYERS" || name == "DUMP_BLOB_TYPES" ||
                         name == "DUMP_BLOB_FORWARDS";
    if (program.empty() || !chooses)
      return Status::InvalidArgument(
          fmt::format("{} does nothing with device_check; --judge here -o FOLDER keeps what a device computed", name));
  }
  return Status::Ok();
}

Status DeviceCheckOptions::CheckModes() const {
  PLUMB_RETURN_IF_ERROR(CheckDumpVariables());
  if (!judges_here()) {
    for (const auto& [option, value] : {std::pair<const char*, const std::string&>("-o", output_folder),
                                        {"--names", words.names},
                                        {"--layout", words.layout},
                                        {"--arithmetic", words.arithmetic}}) {
      if (!value.empty())
        return Status::InvalidArgument(fmt::format("{} does nothing without --judge here or --program", option));
    }
    return Status::Ok();
  }
  if (program.empty() && device == "ALL")
    return Status::InvalidArgument(
        "--judge here takes devices by their names (-d ARM,NAIVE), found -d ALL: which are there is known there only");
  return Status::Ok();
}

void DeviceCheckOptions::AddTo(CommandLine* c) {
  model.not_needed = &clean;
  model.AddTo(c);
  AddMachines(c);
  c->Group("Device");
  c->Add("--device", &device,
         "NAIVE, X86, ARM, OPENCL, VULKAN, a list (ARM,NAIVE) or ALL: those present there but NAIVE");
  run.AddTo(c);
  input.AddTo(c);
  c->Group("Check");
  c->Add("--layers", &layers, "judge only the step that holds this layer (a name or an index); may repeat");
  c->Add("--min-tested", &min_tested,
         "share of steps, values and multiply-adds that must be compared, or the run is \"not tested\"");
  AddDumps(c);
  output.AddTo(c, "one line per device and the last line", "");
  c->Flag("--all", &all, "every step; otherwise those that are not aligned and the five nearest to their bounds");
  c->Flag("--full", &full, "every step with every number");
  c->Add("--json", &json, "write what each machine reported as JSON");
  c->Brief({{"--model", "x.onnx, x.tflite, or x.tnnproto with its x.tnnmodel"},
            {"--adb", "SERIAL: a phone, as `adb devices` lists it"},
            {"--ssh", "USER@HOST: a board whose key is known"},
            {"--device", "ARM, NAIVE, a list, or ALL, which is the default"},
            {"--input", "x.npy, image.png, NAME=FILE; else inputs are generated"},
            {"--shape", "NAME=1,3,224,224, where the model leaves it open"},
            {"--judge", "here: it runs there, and is judged here"},
            {"--program", "a command line of yours in place of model_run"},
            {"--quiet", "one line per device and the last line"}});
}

}  // namespace plumb
