#include "device_check/options.h"

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
  c->Flag("--clean", &clean, "remove all that device_check left there, and do nothing else");
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
  c->Add("--min-tested", &min_tested, "share of steps that must be compared, or the run is \"not tested\"");
  output.AddTo(c, "one line per device and the last line", "");
  c->Flag("--all", &all, "every step; otherwise those that are not aligned and the five nearest to their bounds");
  c->Flag("--full", &full, "every step with every number");
  c->Add("--json", &json, "write what each machine reported as JSON");
}

}  // namespace plumb
