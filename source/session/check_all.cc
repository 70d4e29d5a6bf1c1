#include "plumb/check_all.h"

#include <algorithm>

#include "base/exit_code.h"
#include "plumb/interrupt.h"
#include "plumb/plumb.h"
#include "plumb/support.h"

namespace plumb {
namespace {

class WholeCheck {
 public:
  WholeCheck(Session* session, const CheckPlan& plan) : session_(session), plan_(plan) {}

  Result<CheckResult> Run() {
    const bool alone = plan_.devices.empty() && session_->subject() != nullptr;
    if (!alone) {
      const std::vector<std::string> all = {"ALL"};
      PLUMB_ASSIGN_OR_RETURN(result_.devices, AskDevices(plan_.devices.empty() ? all : plan_.devices));
    }
    result_.checked = session_->Describe();
    result_.checked.precision = PrecisionName(plan_.network.precision);
    result_.checked.min_tested = plan_.check.min_tested;
    result_.checked.reproduce = plan_.reproduce;
    if (session_->golden() != nullptr) PLUMB_RETURN_IF_ERROR(JudgeGolden());
    if (session_->subject() != nullptr) PLUMB_RETURN_IF_ERROR(JudgeSubject());
    for (AskedDevice& asked : result_.devices) {
      JudgeOn(&asked);
      PLUMB_RETURN_IF_ERROR(Interrupter::Check());
    }
    return std::move(result_);
  }

 private:
  Status JudgeGolden() {
    CheckOptions check = plan_.check;
    check.on_wrong = nullptr;
    check.layers.clear();  // a conversion is right as a whole
    PLUMB_ASSIGN_OR_RETURN(RunReport report, session_->JudgeGolden(std::move(check)));
    report.reproduce = plan_.reproduce_golden;
    result_.runs.push_back(std::move(report));
    return Status::Ok();
  }

  Status JudgeSubject() {
    PLUMB_ASSIGN_OR_RETURN(RunReport report, session_->JudgeSubject(plan_.check));
    report.reproduce = plan_.reproduce_subject;
    result_.runs.push_back(std::move(report));
    return Status::Ok();
  }

  void JudgeOn(AskedDevice* asked) {
    NetworkOptions options = plan_.network;
    if (asked->device != "OPENCL" && asked->device != "VULKAN") options.device_index = 0;
    const auto opened = OpenDevice(asked->device, options.device_index);
    if (!opened.ok()) return Fail(asked, opened.status(), ExitCodeOfDevice(opened.status()));
    auto report = session_->CheckDevice(asked->device, options, plan_.check);
    if (report.ok()) {
      asked->state = AskedDevice::State::kRan;
      return result_.runs.push_back(std::move(*report));
    }
    if (report.status().code() == StatusCode::kNotSupported && !asked->by_name) {
      asked->state = AskedDevice::State::kSkipped;
      asked->error = WithoutKernel(*session_->graph(), **opened, report.status());
      asked->code = report.status().code();
      return;
    }
    Fail(asked, report.status(), ExitCodeOf(report.status()));
  }

  static void Fail(AskedDevice* asked, const Status& why, int exit_code) {
    asked->state = AskedDevice::State::kFailed;
    asked->error = why.message();
    asked->code = why.code();
    asked->exit_code = exit_code;
  }

  Session* session_;
  const CheckPlan& plan_;
  CheckResult result_;
};

}  // namespace

Result<CheckResult> CheckAll(Session* session, const CheckPlan& plan) { return WholeCheck(session, plan).Run(); }

Result<std::vector<AskedDevice>> AskDevices(const std::vector<std::string>& names) {
  std::vector<AskedDevice> asked;
  const auto add = [&](const std::string& name, bool by_name) {
    const auto it =
        std::find_if(asked.begin(), asked.end(), [&](const AskedDevice& one) { return one.device == name; });
    if (it != asked.end()) {
      it->by_name = it->by_name || by_name;
      return;
    }
    asked.emplace_back();
    asked.back().device = name;
    asked.back().by_name = by_name;
  };
  for (const std::string& name : names) {
    if (name != "ALL") {
      PLUMB_RETURN_IF_ERROR(CheckDeviceName(name));
      add(name, true);
      continue;
    }
    for (const DeviceInfo& info : ListDevices()) {
      if (info.present && info.name != "NAIVE") add(info.name, false);
    }
    if (asked.empty()) add("NAIVE", false);
  }
  if (asked.empty()) return Status::InvalidArgument("expected a device, found nothing; device_info lists them");
  return asked;
}

std::string WithoutKernel(const Graph& graph, Device& device, const Status& refused) {
  const auto blobs = InferShapes(graph);
  if (!blobs.ok()) return refused.message();
  std::vector<std::pair<std::string, std::vector<const Layer*>>> types;
  const std::vector<LayerSupport> support = FindSupport(graph, *blobs, device);
  for (size_t i = 0; i < support.size(); ++i) {
    if (!support[i].kernel.empty()) continue;
    const Layer& layer = graph.layers[i];
    const auto same = [&](const auto& entry) { return entry.first == layer.type; };
    auto it = std::find_if(types.begin(), types.end(), same);
    if (it == types.end()) it = types.insert(types.end(), {layer.type, {}});
    it->second.push_back(&layer);
  }
  if (types.empty()) return refused.message();
  std::string text = "no kernel for ";
  for (const auto& [type, layers] : types) {
    text += (text.back() == ' ' ? "" : ", ") + type + " (layer " + std::to_string(layers[0]->index) + " '" +
            layers[0]->name + "'";
    if (layers.size() > 1) text += " and " + std::to_string(layers.size() - 1) + " more";
    text += ")";
  }
  return text;
}

}  // namespace plumb
