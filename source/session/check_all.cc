// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/check_all.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "plumb/plumb.h"
#include "plumb/tool/exit_code.h"
#include "plumb/tool/interrupt.h"
#include "plumb/tool/printing.h"
#include "plumb/tool/support.h"
#include "runtime/poison.h"
#include "session/repeat.h"

namespace plumb {
namespace {

class WholeCheck {
 public:
  WholeCheck(Session* session, const CheckPlan& plan) : session_(session), plan_(plan) {}

  Result<CheckResult> Run(std::vector<AskedDevice> devices) {
    result_.devices = std::move(devices);
    result_.model = session_->graph();
    result_.file_nodes = session_->file_nodes();
    Describe();
    if (session_->golden() != nullptr) Note(JudgeGolden());
    PLUMB_RETURN_IF_ERROR(Interrupter::Check());
    if (session_->subject() != nullptr) Note(JudgeSubject());
    PLUMB_RETURN_IF_ERROR(Interrupter::Check());
    for (AskedDevice& asked : result_.devices) {
      JudgeOn(&asked);
      PLUMB_RETURN_IF_ERROR(Interrupter::Check());
    }
    return std::move(result_);
  }

 private:
  void Describe() {
    result_.checked = session_->Describe();
    result_.checked.precision = PrecisionName(plan_.network.precision);
    result_.checked.min_tested = plan_.check.min_tested;
    result_.checked.reproduce = plan_.reproduce;
    if (plan_.hooks.described) plan_.hooks.described(&result_.checked);
  }

  Status JudgeGolden() {
    CheckOptions check = plan_.check;
    check.on_wrong = nullptr;
    check.on_step = nullptr;
    check.layers.clear();  // a conversion is right as a whole
    PLUMB_ASSIGN_OR_RETURN(RunReport report, session_->JudgeGolden(std::move(check)));
    report.reproduce = plan_.reproduce_golden;
    return Keep(std::move(report), {});
  }

  Status JudgeSubject() {
    PLUMB_ASSIGN_OR_RETURN(RunReport report, session_->JudgeSubject(plan_.check));
    report.reproduce = plan_.reproduce_subject;
    return Keep(std::move(report), {});
  }

  Status Keep(RunReport report, const std::map<std::string, Tensor>& outputs) {
    result_.runs.push_back(std::move(report));
    return plan_.hooks.judged ? plan_.hooks.judged(result_.checked, &result_.runs.back(), outputs) : Status::Ok();
  }

  // Of golden and subject.
  void Note(const Status& judged) {
    if (judged.ok()) return;
    result_.errors.push_back({judged.message(), ExitCodeOf(judged), judged.code()});
    if (plan_.hooks.failed) plan_.hooks.failed(&result_.errors.back());
  }

  void JudgeOn(AskedDevice* asked) {
    NetworkOptions options = plan_.network;
    options.single_forward = plan_.repeats == 0;
    if (asked->device != "OPENCL" && asked->device != "VULKAN") options.device_index = 0;
    const auto opened = OpenDevice(asked->device, options.device_index);
    if (!opened.ok()) return NotRun(asked, opened.status(), ExitCodeOfDevice(opened.status()));
    const auto network = plan_.hooks.prepare ? plan_.hooks.prepare(*opened, options)
                                             : CreateNetwork(session_->graph(), asked->device, options);
    if (network.status().code() == StatusCode::kNotSupported && !asked->by_name) {
      asked->state = AskedDevice::State::kSkipped;
      return NotRun(asked, Status::NotSupported(WithoutKernel(*session_->graph(), **opened, network.status())), 0);
    }
    const Status used = network.ok() ? Use(network->get()) : network.status();
    if (!used.ok()) return NotRun(asked, used, ExitCodeOf(used));
    asked->state = AskedDevice::State::kRan;
  }

  Status Use(Network* network) {
    if (plan_.hooks.use) return plan_.hooks.use(network);
    const auto& inputs = plan_.inputs == nullptr ? session_->inputs().values : *plan_.inputs;
    std::map<std::string, Tensor> outputs;
    const auto repeated = std::make_shared<RepeatObserver>(), poisoned = std::make_shared<RepeatObserver>();
    const auto threads = std::make_shared<RepeatObserver>(), batch = std::make_shared<RepeatObserver>(plan_.batch);
    if (plan_.repeats > 0) network->AddObserver(repeated);
    if (plan_.poison) network->AddObserver(poisoned);
    if (plan_.vary_threads > 0) network->AddObserver(threads);
    if (plan_.batch > 0) network->AddObserver(batch);
    PLUMB_ASSIGN_OR_RETURN(RunReport report, session_->CheckNetwork(network, inputs, plan_.check, &outputs));
    for (const auto& once : {poisoned, threads, batch}) network->RemoveObserver(once.get());
    for (int i = 0; i < plan_.repeats; ++i) {
      PLUMB_RETURN_IF_ERROR(RunNetwork(network, inputs).status());
      PLUMB_RETURN_IF_ERROR(Interrupter::Check());
    }
    if (plan_.repeats > 0) report.notes.push_back(repeated->Describe());
    if (plan_.poison) {
      PLUMB_RETURN_IF_ERROR(RunPoisoned(*network, inputs, poisoned));
      report.notes.push_back(poisoned->DescribePoisoned());
    }
    if (plan_.vary_threads > 0) report.notes.push_back(WithThreads(*network, inputs, threads));
    if (plan_.batch > 0) report.notes.push_back(WithBatch(*network, inputs, batch));
    return Keep(std::move(report), outputs);
  }

  // Such a network on the same device, once.
  Status RunPoisoned(const Network& network, const std::map<std::string, Tensor>& inputs,
                     const std::shared_ptr<RepeatObserver>& observer) {
    const NetworkOptions& options = network.options();
    PLUMB_ASSIGN_OR_RETURN(const auto device, OpenDevice(network.device_name(), options.device_index));
    const PoisonedNetworks poisoned;
    PLUMB_ASSIGN_OR_RETURN(const auto again, Network::Create(session_->graph(), device, options));
    again->AddObserver(observer);
    return RunNetwork(again.get(), inputs).status();
  }

  std::string WithThreads(const Network& network, const std::map<std::string, Tensor>& inputs,
                          const std::shared_ptr<RepeatObserver>& observer) {
    NetworkOptions options = network.options();
    const std::string how = fmt::format("with {} thread{}", plan_.vary_threads, plan_.vary_threads == 1 ? "" : "s");
    const std::string device = network.device_name();
    if (device == "OPENCL" || device == "VULKAN")
      return fmt::format("{}: not run, for the threads of {} are its driver's", how, device);
    const int first = options.num_threads > 0 ? options.num_threads : GetRuntime().num_threads;
    if (first == plan_.vary_threads) return how + ": not run, for the first run had as many";
    options.num_threads = plan_.vary_threads;
    return Varied(how, network, options, inputs, observer);
  }

  std::string WithBatch(const Network& network, const std::map<std::string, Tensor>& inputs,
                        const std::shared_ptr<RepeatObserver>& observer) {
    NetworkOptions options = network.options();
    const std::string how = fmt::format("with the inputs {} times along axis 0", plan_.batch);
    std::map<std::string, Tensor> many;
    for (const auto& [name, value] : inputs) {
      Shape shape = value.shape();
      if (shape.rank() == 0) return fmt::format("{}: not run, for input '{}' is a scalar", how, Printable(name));
      shape[0] *= plan_.batch;
      auto items = Tensor::Create(value.dtype(), shape);
      if (!items.ok()) return fmt::format("{}: not run: {}", how, items.status().message());
      for (int item = 0; item < plan_.batch; ++item)
        std::memcpy(static_cast<char*>(items->raw()) + value.bytes() * static_cast<size_t>(item), value.raw(),
                    value.bytes());
      many[name] = *std::move(items);
      options.input_shapes[name] = shape;
    }
    if (MixesItems(network, inputs, many, options))
      observer->MixItems();  // what lies along axis 0 is no batch, or the network looks across it
    return Varied(how, network, options, many, observer);
  }

  // Whether the reference itself computes other items from the same inputs side by side.
  bool MixesItems(const Network& network, const std::map<std::string, Tensor>& inputs,
                  const std::map<std::string, Tensor>& many, const NetworkOptions& batched) const {
    const auto observer = std::make_shared<RepeatObserver>(plan_.batch);
    for (const auto& [values, shapes] :
         {std::pair(&inputs, &network.options().input_shapes), {&many, &batched.input_shapes}}) {
      NetworkOptions options;
      options.input_shapes = *shapes;
      const auto own = CreateNetwork(session_->graph(), "NAIVE", options);
      if (!own.ok()) return false;  // the device's run says why
      (*own)->AddObserver(observer);
      if (!RunNetwork(own->get(), *values).ok()) return false;
    }
    return observer->changed();
  }

  // One more run on the same device, which is judged, too.
  std::string Varied(const std::string& how, const Network& network, const NetworkOptions& options,
                     const std::map<std::string, Tensor>& inputs, const std::shared_ptr<RepeatObserver>& observer) {
    const auto judge = [&]() -> Result<RunReport> {
      PLUMB_ASSIGN_OR_RETURN(const auto device, OpenDevice(network.device_name(), options.device_index));
      PLUMB_ASSIGN_OR_RETURN(const auto again, Network::Create(session_->graph(), device, options));
      again->AddObserver(observer);
      CheckOptions check = plan_.check;
      check.on_wrong = nullptr;
      check.on_step = nullptr;
      check.picture_cells = 0;
      return session_->CheckNetwork(again.get(), inputs, std::move(check));
    };
    const auto report = judge();
    if (!report.ok()) return fmt::format("{}: cannot be run: {}", how, report.status().message());
    const std::string said = observer->DescribeVaried(how);
    result_.comparisons.push_back({fmt::format("{} {}", network.device_name(), how), report->verdict});
    if (report->first_wrong >= 0) {
      const LayerReport& wrong = report->layers[static_cast<size_t>(report->first_wrong)];
      return fmt::format("{}; judged so, '{}' is wrong: {}", said, Printable(wrong.step.name), wrong.reason);
    }
    return observer->changed() && !observer->mixes() ? said + "; every step is within its bound" : said;
  }

  void NotRun(AskedDevice* asked, const Status& why, int exit_code) {
    if (asked->state != AskedDevice::State::kSkipped) asked->state = AskedDevice::State::kFailed;
    asked->error = why.message();
    asked->code = why.code();
    asked->exit_code = exit_code;
    if (plan_.hooks.not_run) plan_.hooks.not_run(asked);
  }

  Session* session_;
  const CheckPlan& plan_;
  CheckResult result_;
};

}  // namespace

Result<CheckResult> CheckAll(Session* session, const CheckPlan& plan) {
  if (plan.devices.empty() && session->subject() != nullptr) return CheckAll(session, plan, {});
  const std::vector<std::string> all = {"ALL"};
  PLUMB_ASSIGN_OR_RETURN(std::vector<AskedDevice> devices, AskDevices(plan.devices.empty() ? all : plan.devices));
  return CheckAll(session, plan, std::move(devices));
}

Result<CheckResult> CheckAll(Session* session, const CheckPlan& plan, std::vector<AskedDevice> devices) {
  return WholeCheck(session, plan).Run(std::move(devices));
}

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
    text += fmt::format("{}{} (layer {} '{}'", text.back() == ' ' ? "" : ", ", type, layers[0]->index, layers[0]->name);
    if (layers.size() > 1) text += fmt::format(" and {} more", layers.size() - 1);
    text += ")";
  }
  return text;
}

}  // namespace plumb
