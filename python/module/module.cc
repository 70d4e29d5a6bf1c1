// SPDX-License-Identifier: Apache-2.0
// The module plumbnn._core: the library as Python calls it. Argument checking, defaults, docstrings and types are in
// the Python files beside it (python/plumbnn).
#include "bind.h"
#include "plumb/tool/printing.h"

// nanobind's own entry, behind the module's: what it does first would already break the interpreter that has the
// module.
#define PyInit__core InitModule

NB_MODULE(_core, m) {
  using namespace plumb;          // NOLINT(google-build-using-namespace): the macro's function is outside
  using namespace plumb::python;  // NOLINT(google-build-using-namespace): the macro's function is outside
  m.doc() = "Plumb's library. Use plumbnn, which is what is documented.";
  RegisterError(m);
  WatchLeaving(m);
  m.def("printable_message", [](nb::bytes text) { return PrintableMessage({text.c_str(), text.size()}); });
  BindModel(m);
  BindNetwork(m);
  BindCheck(m);
  BindCompare(m);
  BindJudge(m);
  BindStage(m);
  BindMany(m);
  BindReduce(m);
}

#undef PyInit__core

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name that Python looks for
extern "C" NB_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return InitModule();
  PyErr_SetString(PyExc_ImportError,
                  "plumbnn works in the main interpreter of a process alone, and this is a subinterpreter: import it "
                  "there, or start a process (multiprocessing)");
  return nullptr;
}
