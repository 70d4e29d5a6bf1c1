// SPDX-License-Identifier: Apache-2.0
// ChooseLayouts: walks the steps in order; a kernel hears how its inputs arrive, says what it wants and what it makes.
// A conversion is made once per blob and layout and shared by all later readers.
#include <fmt/core.h>

#include "runtime/plan.h"
namespace plumb {
namespace {

class LayoutPass {
 public:
  explicit LayoutPass(Plan* plan) : plan_(*plan) {}

  Status Run() {
    for (const GraphInput& input : plan_.graph->inputs) AddPlain(input.name, -1);
    for (const auto& [name, value] : plan_.graph->constants) {
      const int id = AddPlain(name, -1);
      plan_.values[static_cast<size_t>(id)].constant = true;
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      PLUMB_RETURN_IF_ERROR(RunStep(static_cast<int>(s)).AddContext(LayerFrame(plan_.steps[s]->group.last())));
    }
    for (const std::string& name : plan_.graph->outputs) {
      Value& value = plan_.values[static_cast<size_t>(plan_.blob_values.at(name))];
      value.last_step = static_cast<int>(plan_.steps.size());
      value.pinned = true;
    }
    return Status::Ok();
  }

 private:
  int Add(const std::string& blob, const LayoutPtr& layout, int step) {
    const BlobInfo& info = plan_.blobs.at(blob);
    Value value;
    value.blob = blob;
    value.dtype = info.dtype;
    value.shape = info.shape;
    value.layout = layout;
    value.first_step = value.last_step = step;
    plan_.values.push_back(std::move(value));
    return static_cast<int>(plan_.values.size()) - 1;
  }

  int AddPlain(const std::string& blob, int step) {
    const int id = Add(blob, PlainLayout(), step);
    plan_.values.back().pinned = true;
    plan_.blob_values[blob] = id;
    return id;
  }

  // Belongs to no blob and lives for one step.
  int AddWorkspace(int64_t elements, int step) {
    Value value;
    value.shape = Shape{elements};
    value.layout = PlainLayout();
    value.first_step = value.last_step = step;
    plan_.values.push_back(std::move(value));
    return static_cast<int>(plan_.values.size()) - 1;
  }

  int Converted(int source, const LayoutPtr& wanted, int s, Step* step) {
    const Value& from = plan_.values[static_cast<size_t>(source)];
    if (from.layout->Equals(*wanted)) return source;
    const auto key = std::make_pair(from.blob, wanted->Name());
    const auto it = converted_.find(key);
    if (it != converted_.end()) return it->second;
    const bool constant = from.constant;
    const int id = Add(from.blob, wanted, constant ? -1 : s);
    plan_.values[static_cast<size_t>(id)].constant = constant;
    if (!constant) step->reorders.emplace_back(source, id);
    converted_[key] = id;
    return id;
  }

  Status RunStep(int s) {
    Step& step = *plan_.steps[static_cast<size_t>(s)];
    std::vector<LayoutPtr> arriving;
    for (const auto& port : step.group.inputs) {
      step.arriving.push_back(plan_.blob_values.at(port.blob));
      arriving.push_back(plan_.values[static_cast<size_t>(step.arriving.back())].layout);
    }
    PLUMB_RETURN_IF_ERROR(step.kernel->ChooseLayouts(*step.spec, arriving, &step.choice));
    step.choice.inputs.resize(arriving.size());
    if (step.choice.outputs.size() != step.group.outputs.size()) {
      return Status::Internal(fmt::format("kernel {} chose layouts for {} outputs of {}", step.info.kernel,
                                          step.choice.outputs.size(), step.group.outputs.size()));
    }
    for (size_t i = 0; i < arriving.size(); ++i) {
      if (step.choice.inputs[i] == nullptr) step.choice.inputs[i] = arriving[i];
      Touch(step.arriving[i], s);
      step.inputs.push_back(Converted(step.arriving[i], step.choice.inputs[i], s, &step));
      Touch(step.inputs.back(), s);
      step.info.inputs[i].layout = step.choice.inputs[i]->Name();
      step.info.inputs[i].stored = step.choice.inputs[i]->Storage(step.info.inputs[i].dtype);
    }
    for (size_t i = 0; i < step.group.outputs.size(); ++i) {
      const int id = Add(step.group.outputs[i].blob, step.choice.outputs[i], s);
      plan_.blob_values[step.group.outputs[i].blob] = id;
      step.outputs.push_back(id);
      step.info.outputs[i].layout = step.choice.outputs[i]->Name();
      step.info.outputs[i].stored = step.choice.outputs[i]->Storage(step.info.outputs[i].dtype);
    }
    if (step.choice.workspace > 0) step.workspace = AddWorkspace(step.choice.workspace, s);
    return Status::Ok();
  }

  void Touch(int id, int s) {
    Value& value = plan_.values[static_cast<size_t>(id)];
    if (s > value.last_step) value.last_step = s;
  }

  Plan& plan_;
  std::map<std::pair<std::string, std::string>, int> converted_;
};

}  // namespace

Status ChooseLayouts(Plan* plan) { return LayoutPass(plan).Run(); }

}  // namespace plumb
