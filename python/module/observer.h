// SPDX-License-Identifier: Apache-2.0
// An observer written in Python: an object with the methods of plumbnn.Observer.
#ifndef PLUMB_PYTHON_OBSERVER_H_
#define PLUMB_PYTHON_OBSERVER_H_

#include <functional>
#include <map>

#include "convert.h"
#include "plumb/observer.h"

namespace plumb::python {

// A step as plumbnn.Step.
nb::object ToStep(const StepInfo& step);

// What a method is given, as plumbnn.Event. It may be kept, but has no tensors once the method has returned.
class EventHandle {
 public:
  explicit EventHandle(const LayerEvent* event, nb::object step) : event_(event), step_(std::move(step)) {}
  void End() { event_ = nullptr; }
  nb::object step() const { return step_; }
  int forward() const { return Alive().forward(); }
  double seconds() const { return Alive().seconds(); }
  nb::object Input(size_t i) const;
  nb::object Output(size_t i) const;

 private:
  const LayerEvent& Alive() const;
  const LayerEvent* event_;
  nb::object step_;
};

// Called without the GIL. An exception of the Python object ends the Forward and comes out of it (Ending).
class PythonObserver : public Observer {
 public:
  explicit PythonObserver(nb::object object) : object_(std::move(object)) {}
  ~PythonObserver() override;

  const nb::object& object() const { return object_; }
  bool Wants(const StepInfo& step, int forward) override;
  Status ForwardBegin(int forward) override;
  Status Before(const LayerEvent& event) override;
  Status After(const LayerEvent& event) override;
  Status ForwardEnd(int forward) override;

 private:
  Status Call(const std::function<void()>& call);
  Status CallWithEvent(const char* method, const LayerEvent& event);
  const nb::object& StepOf(const StepInfo& step);

  nb::object object_;
  std::map<const StepInfo*, nb::object> steps_;
};

}  // namespace plumb::python

#endif  // PLUMB_PYTHON_OBSERVER_H_
