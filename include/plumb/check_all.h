// A whole check in one call: the golden, the subject and devices of one session, judged one after the other, in the one
// result that reports are made of (plumb/report.h).
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(const auto session, plumb::Session::Open("net.tnnproto"));
//   plumb::CheckPlan plan;
//   plan.devices = {"NAIVE", "X86"};
//   PLUMB_ASSIGN_OR_RETURN(const plumb::CheckResult result, plumb::CheckAll(session.get(), plan));
//   std::puts(plumb::Conclude(result).line.c_str());
//
// Threading: as the session's.
#ifndef PLUMB_CHECK_ALL_H_
#define PLUMB_CHECK_ALL_H_

#include <string>
#include <vector>

#include "plumb/session.h"

namespace plumb {

struct CheckPlan {
  // In capitals; "ALL" stands for those present but NAIVE. Empty: none where there is a subject, else ALL.
  std::vector<std::string> devices;
  NetworkOptions network;  // device_index counts for OPENCL and VULKAN alone
  CheckOptions check;
  // What shows this again, for the report: CheckedModel::reproduce, and RunReport::reproduce of golden and subject.
  std::string reproduce, reproduce_golden, reproduce_subject;
};

// Judges what there is. A device that cannot run is no error here: CheckResult::devices says why, and Conclude's
// verdict is "error" where it was asked for by name; one of ALL that lacks a kernel is skipped. Errors: an unknown
// device; those of JudgeGolden and JudgeSubject; DeviceError when interrupted.
Result<CheckResult> CheckAll(Session* session, const CheckPlan& plan);

// Each device once, in the order in which it was named first. InvalidArgument: no device has that name, or none is
// named.
Result<std::vector<AskedDevice>> AskDevices(const std::vector<std::string>& names);

// Why a device refused the graph, for people: "no kernel for LSTM (layer 3 'lstm'), Loop (layer 7 'loop' and 2 more)";
// `refused`, which CreateNetwork returned, where kernels are not the reason.
std::string WithoutKernel(const Graph& graph, Device& device, const Status& refused);

}  // namespace plumb

#endif  // PLUMB_CHECK_ALL_H_
