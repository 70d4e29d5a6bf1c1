// SPDX-License-Identifier: Apache-2.0
#include "observer.h"

namespace plumb::python {
namespace {

nb::object ToPort(const PortInfo& port) {
  static const char* kType = "Port";
  const nb::object type = nb::module_::import_("plumbnn._types").attr(kType);
  return Invoke(type, nullptr,
                {nb::cast(port.blob), nb::cast(DTypeName(port.dtype)), nb::tuple(nb::cast(port.shape.dims())),
                 nb::cast(port.layout), nb::cast(port.constant)});
}

nb::list ToPorts(const std::vector<PortInfo>& ports) {
  nb::list list;
  for (const PortInfo& port : ports) list.append(ToPort(port));
  return list;
}

}  // namespace

nb::object ToStep(const StepInfo& step) {
  nb::list members, nodes;
  for (const MemberInfo& member : step.members) {
    members.append(nb::make_tuple(member.index, member.name, member.type));
    for (const std::string& node : member.nodes) nodes.append(node);
  }
  const nb::object type = nb::module_::import_("plumbnn._types").attr("Step");
  return Invoke(
      type, nullptr,
      {nb::cast(step.index), nb::cast(step.name), nb::cast(step.type), nb::cast(step.device), nb::cast(step.kernel),
       nb::cast(step.detail), nb::cast(step.fallback), members, nodes, ToPorts(step.inputs), ToPorts(step.outputs)});
}

const LayerEvent& EventHandle::Alive() const {
  if (event_ != nullptr) return *event_;
  throw StatusError{Status::InvalidArgument("the event of step '" + nb::cast<std::string>(step_.attr("name")) +
                                            "' is over: read its tensors before the observer's method returns")};
}

nb::object EventHandle::Input(size_t i) const {
  const LayerEvent& event = Alive();
  if (i >= event.step().inputs.size()) throw nb::index_error();
  return ToArray(Compute([&] { return event.Input(i); }));
}

nb::object EventHandle::Output(size_t i) const {
  const LayerEvent& event = Alive();
  if (i >= event.step().outputs.size()) throw nb::index_error();
  return ToArray(Compute([&] { return event.Output(i); }));
}

PythonObserver::~PythonObserver() {
  const WithGil acquire;
  steps_.clear();
  object_.reset();
}

Status PythonObserver::Call(const std::function<void()>& call) {
  const WithGil acquire;
  const UserCode user;
  try {
    call();
    return Status::Ok();
  } catch (nb::python_error& error) {
    Ending* ending = CurrentEnding();
    if (ending != nullptr) ending->Keep(std::move(error));
  } catch (const StatusError& error) {
    return error.status;
  } catch (const std::exception& error) {
    return Status::InvalidArgument(std::string("observer: ") + error.what());
  }
  return Status::InvalidArgument("an observer written in Python raised an exception");
}

const nb::object& PythonObserver::StepOf(const StepInfo& step) {
  nb::object& object = steps_[&step];
  if (!object.is_valid()) object = ToStep(step);
  return object;
}

bool PythonObserver::Wants(const StepInfo& step, int forward) {
  bool wants = false;
  const Status asked = Call([&] {
    wants = nb::cast<bool>(Invoke(object_, "wants", {StepOf(step), nb::cast(forward)}));
  });
  return asked.ok() && wants;
}

Status PythonObserver::ForwardBegin(int forward) {
  return Call([&] { Invoke(object_, "forward_begin", {nb::cast(forward)}); });
}

Status PythonObserver::ForwardEnd(int forward) {
  return Call([&] { Invoke(object_, "forward_end", {nb::cast(forward)}); });
}

Status PythonObserver::CallWithEvent(const char* method, const LayerEvent& event) {
  return Call([&] {
    auto* handle = new EventHandle(&event, StepOf(event.step()));
    const nb::object owned = nb::cast(handle, nb::rv_policy::take_ownership);
    try {
      Invoke(object_, method, {owned});
    } catch (...) {
      handle->End();
      throw;
    }
    handle->End();
  });
}

Status PythonObserver::Before(const LayerEvent& event) { return CallWithEvent("before", event); }
Status PythonObserver::After(const LayerEvent& event) { return CallWithEvent("after", event); }

}  // namespace plumb::python
