// SPDX-License-Identifier: Apache-2.0
// A whole check in one call: the golden, the subject and devices of one session, judged one after the other, in the one
// result that reports are made of (plumb/report.h).
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(const auto session, plumb::Session::Open("net.tnnproto"));
//   plumb::CheckPlan plan;
//   plan.devices = {"NAIVE", "X86"};
//   plan.hooks.judged = [](const plumb::CheckedModel& checked, plumb::RunReport* run, const auto& /*outputs*/) {
//     std::puts(plumb::FormatSummary(checked, *run).c_str());  // as soon as it is known
//     return plumb::Status::Ok();
//   };
//   PLUMB_ASSIGN_OR_RETURN(const plumb::CheckResult result, plumb::CheckAll(session.get(), plan));
//   std::puts(plumb::Conclude(result).line.c_str());
//
// Threading: as the session's.
#ifndef PLUMB_TOOL_CHECK_ALL_H_
#define PLUMB_TOOL_CHECK_ALL_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plumb/session.h"

namespace plumb {

// What a caller does of its own while CheckAll works, on CheckAll's thread. Each may be empty.
struct CheckHooks {
  // What was checked, before anything is judged; the reports' heads are made of it.
  std::function<void(CheckedModel* checked)> described;
  // Prepares the session's graph on a device in place of CreateNetwork: with observers of its own, with another dump.
  std::function<Result<std::unique_ptr<Network>>(std::shared_ptr<Device> device, const NetworkOptions& options)>
      prepare;
  // Uses that network in place of the judging of its layers; no run is reported then.
  std::function<Status(Network* network)> use;
  // A run as soon as it is judged, which may be written into, with a device's network outputs (none of golden and
  // subject). An error is the device's (the golden's, the subject's).
  std::function<Status(const CheckedModel& checked, RunReport* run, const std::map<std::string, Tensor>& outputs)>
      judged;
  // A device that was skipped or failed; golden or subject that could not be judged.
  std::function<void(AskedDevice* asked)> not_run;
  std::function<void(CheckError* error)> failed;
};

struct CheckPlan {
  // In capitals; "ALL" stands for those present but NAIVE. Empty: none where there is a subject, else ALL.
  std::vector<std::string> devices;
  NetworkOptions network;  // device_index counts for OPENCL and VULKAN alone
  CheckOptions check;
  // Runs every device so many times more, and notes which step changes first (RunReport::notes). The outputs of all
  // steps are kept for that.
  int repeats = 0;
  // Runs every device once more with NaN in the memory that each step is about to write, and notes which step changes
  // first.
  bool poison = false;
  // Runs every device once more with so many threads, and once more with the inputs so many times along axis 0 (0:
  // not). Notes which step changes first, and whether every step of that run is within its bound.
  int vary_threads = 0, batch = 0;
  // Of the devices, in place of the session's, which golden and subject are judged on; outlives the check.
  const std::map<std::string, Tensor>* inputs = nullptr;
  // What shows this again, for the report: CheckedModel::reproduce, and RunReport::reproduce of golden and subject.
  std::string reproduce, reproduce_golden, reproduce_subject;
  CheckHooks hooks;
};

// Judges what there is. What cannot run is no error here: CheckResult::devices and ::errors say why, and Conclude's
// verdict is "error"; a device of ALL that lacks a kernel is skipped. Errors: an unknown device; DeviceError when
// interrupted.
Result<CheckResult> CheckAll(Session* session, const CheckPlan& plan);
// The same on devices that AskDevices made of names (CheckPlan::devices counts no more).
Result<CheckResult> CheckAll(Session* session, const CheckPlan& plan, std::vector<AskedDevice> devices);

// Each device once, in the order in which it was named first. InvalidArgument: no device has that name, or none is
// named.
Result<std::vector<AskedDevice>> AskDevices(const std::vector<std::string>& names);

// Why a device refused the graph, for people: "no kernel for LSTM (layer 3 'lstm'), Loop (layer 7 'loop' and 2 more)";
// `refused`, which CreateNetwork returned, where kernels are not the reason.
std::string WithoutKernel(const Graph& graph, Device& device, const Status& refused);

}  // namespace plumb

#endif  // PLUMB_TOOL_CHECK_ALL_H_
