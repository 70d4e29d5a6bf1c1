// SPDX-License-Identifier: Apache-2.0
// Networks: prepare, run, watch, dump.
#include "plumb/network.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "bind.h"
#include "observer.h"
#include "plumb/dump.h"
#include "plumb/plumb.h"

namespace plumb::python {
namespace {

Precision ParsePrecision(const std::string& name) {
  for (const Precision precision : {Precision::kHigh, Precision::kNormal, Precision::kLow}) {
    if (name == PrecisionName(precision)) return precision;
  }
  throw StatusError{Status::InvalidArgument("precision: expected HIGH, NORMAL or LOW, found '" + name + "'")};
}

struct DumpArguments {
  std::string folder, format = "npy", layers, types;
  bool inputs = false, outputs = true, statistics_only = false, zstd = false;
};

DumpOptions::Format ParseFormat(const std::string& name) {
  if (name == "npy") return DumpOptions::Format::kNpy;
  if (name == "text") return DumpOptions::Format::kText;
  if (name == "raw") return DumpOptions::Format::kRaw;
  throw StatusError{Status::InvalidArgument("format: expected npy, text or raw, found '" + name + "'")};
}

// A network serves one thread at a time: a second one waits here, without the GIL.
class NetworkHandle {
 public:
  NetworkHandle(const ModelHandle& model, const std::string& device, const DeviceArguments& arguments) {
    const NetworkOptions options = ToNetworkOptions(arguments);
    network_ = Compute([&] { return CreateNetwork(model.graph, device, options); });
  }

  nb::dict Run(const Arrays& arrays, uint64_t seed) {
    const RunningCall call;
    InputOptions inputs;
    inputs.values = ToTensors(arrays);
    inputs.seed = seed;
    return ToArrays(Compute([&]() -> Result<std::map<std::string, Tensor>> {
      const Turn turn(*this);
      PLUMB_RETURN_IF_ERROR(turn.status());
      PLUMB_ASSIGN_OR_RETURN(const NetworkInputs ready, PrepareInputs(inputs, network_->graph(), network_->blobs()));
      return RunNetwork(network_.get(), ready.values);
    }));
  }

  const Network& network() const { return *network_; }

  void Watch(nb::object object) {
    const auto observer = std::make_shared<PythonObserver>(std::move(object));
    Locked([&] {
      watching_.push_back(observer);
      network_->AddObserver(observer.get());
      return Status::Ok();
    });
  }

  void Unwatch(nb::handle object) {
    std::vector<std::shared_ptr<PythonObserver>> gone;  // ends with the GIL held
    Locked([&] {
      for (size_t i = watching_.size(); i-- > 0;) {
        if (watching_[i]->object().ptr() != object.ptr()) continue;
        network_->RemoveObserver(watching_[i].get());
        gone.push_back(watching_[i]);
        watching_.erase(watching_.begin() + static_cast<ptrdiff_t>(i));
      }
      return Status::Ok();
    });
  }

  void AddDump(const DumpArguments& arguments) {
    DumpOptions options;
    options.folder = arguments.folder;
    options.format = ParseFormat(arguments.format);
    options.layers = arguments.layers;
    options.types = arguments.types;
    options.inputs = arguments.inputs;
    options.outputs = arguments.outputs;
    options.statistics_only = arguments.statistics_only;
    options.zstd = arguments.zstd;
    options.note = [](const std::string&) {};  // the folder that was really used is what Python returns
    options.written = [this](const std::string& folder, size_t, size_t) { dumped_ = folder; };
    Locked([&] { return plumb::AddDump(network_.get(), options); });
  }
  std::string dumped() const { return dumped_; }

  // For the garbage collector: an observer may hold its network.
  int Traverse(visitproc visit, void* arg) const {
    for (const auto& observer : watching_) Py_VISIT(observer->object().ptr());
    return 0;
  }
  void Clear() {
    for (const auto& observer : watching_) network_->RemoveObserver(observer.get());
    const auto gone = std::move(watching_);
    watching_.clear();
  }

 private:
  template <class F>
  void Locked(const F& f) {
    Compute([&]() -> Status {
      const Turn turn(*this);
      PLUMB_RETURN_IF_ERROR(turn.status());
      return f();
    });
  }

  class Turn {
   public:
    explicit Turn(NetworkHandle& of) : of_(of), lock_(of.mutex_, std::defer_lock), status_(Take()) {
      if (status_.ok()) of_.busy_in_ = getpid();
    }
    ~Turn() {
      if (status_.ok()) of_.busy_in_ = 0;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    const Status& status() const { return status_; }

   private:
    Status Take() {
      const pid_t other = of_.busy_in_;
      if (other != 0 && other != getpid()) {  // the thread that would end the turn is not in this process
        return Status::InvalidArgument(
            "the network was running when its process was forked: make a new one in the child");
      }
      while (!lock_.try_lock_for(std::chrono::milliseconds(30))) PLUMB_RETURN_IF_ERROR(Interrupter::Check());
      if (of_.busy_in_ == 0) return Status::Ok();
      return Status::InvalidArgument("a network cannot be used by its own observer while it runs");
    }

    NetworkHandle& of_;
    std::unique_lock<std::recursive_timed_mutex> lock_;
    Status status_;
  };

  std::unique_ptr<Network> network_;
  std::recursive_timed_mutex mutex_;
  std::atomic<pid_t> busy_in_{0};  // the process that has its turn; 0: none
  std::vector<std::shared_ptr<PythonObserver>> watching_;
  std::string dumped_;
};

int TraverseNetwork(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<NetworkHandle>(self)->Traverse(visit, arg) : 0;
}

int ClearNetwork(PyObject* self) {
  nb::inst_ptr<NetworkHandle>(self)->Clear();
  return 0;
}

PyType_Slot network_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(TraverseNetwork)},
                               {Py_tp_clear, reinterpret_cast<void*>(ClearNetwork)},
                               {0, nullptr}};

nb::list ToSteps(const NetworkHandle& handle) {
  nb::list steps;
  for (const StepInfo* step : handle.network().steps()) steps.append(ToStep(*step));
  return steps;
}

nb::dict DescribeInputs(const NetworkHandle& handle) {
  nb::dict inputs;
  const Graph& graph = handle.network().graph();
  for (const GraphInput& input : graph.inputs) {
    const BlobInfo& info = handle.network().blobs().at(input.name);
    inputs[nb::cast(input.name)] =
        nb::make_tuple(DTypeName(graph.ModelDType(input.name, info.dtype)), info.shape.dims());
  }
  return inputs;
}

}  // namespace

NetworkOptions ToNetworkOptions(const DeviceArguments& arguments) {
  NetworkOptions options;
  options.precision = ParsePrecision(arguments.precision);
  options.num_threads = arguments.threads;
  options.device_index = arguments.device_index;
  options.fallback = arguments.fallback;
  options.unfuse = arguments.unfuse;
  options.direct = arguments.direct;
  options.input_shapes = ToShapes(arguments.shapes);
  return options;
}

void BindNetwork(nb::module_& m) {
  m.def("cpu_device", [] { return std::string(CpuDeviceName()); });
  nb::class_<DeviceArguments>(m, "DeviceArguments")
      .def(nb::init<>())
      .def_rw("precision", &DeviceArguments::precision)
      .def_rw("threads", &DeviceArguments::threads)
      .def_rw("device_index", &DeviceArguments::device_index)
      .def_rw("fallback", &DeviceArguments::fallback)
      .def_rw("unfuse", &DeviceArguments::unfuse)
      .def_rw("direct", &DeviceArguments::direct)
      .def_rw("shapes", &DeviceArguments::shapes);
  nb::class_<DumpArguments>(m, "DumpArguments")
      .def(nb::init<>())
      .def_rw("folder", &DumpArguments::folder)
      .def_rw("format", &DumpArguments::format)
      .def_rw("layers", &DumpArguments::layers)
      .def_rw("types", &DumpArguments::types)
      .def_rw("inputs", &DumpArguments::inputs)
      .def_rw("outputs", &DumpArguments::outputs)
      .def_rw("statistics_only", &DumpArguments::statistics_only)
      .def_rw("zstd", &DumpArguments::zstd);
  nb::class_<EventHandle>(m, "Event")
      .def_prop_ro("step", &EventHandle::step)
      .def_prop_ro("forward", &EventHandle::forward)
      .def_prop_ro("seconds", &EventHandle::seconds)
      .def("input", &EventHandle::Input, nb::arg("index") = 0)
      .def("output", &EventHandle::Output, nb::arg("index") = 0);
  nb::class_<NetworkHandle>(m, "Network", nb::type_slots(network_slots))
      .def(nb::init<const ModelHandle&, const std::string&, const DeviceArguments&>())
      .def("run", &NetworkHandle::Run,
           nb::sig("def run(self, arrays: collections.abc.Mapping[str, tuple[object, bool]], seed: int, /) -> "
                   "dict[str, typing.Any]"))
      .def("watch", &NetworkHandle::Watch)
      .def("unwatch", &NetworkHandle::Unwatch)
      .def("add_dump", &NetworkHandle::AddDump)
      .def("dumped", &NetworkHandle::dumped)
      .def("steps", &ToSteps, nb::sig("def steps(self) -> list[typing.Any]"))
      .def("inputs", &DescribeInputs, nb::sig("def inputs(self) -> dict[str, tuple[str, list[int]]]"))
      .def("outputs", [](const NetworkHandle& handle) { return handle.network().graph().outputs; })
      .def("device", [](const NetworkHandle& handle) { return handle.network().device_name(); })
      .def("description", [](const NetworkHandle& handle) { return handle.network().device_description(); });
}

}  // namespace plumb::python
