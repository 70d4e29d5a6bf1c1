// The module plumbnn._core: the library as Python calls it. Argument checking, defaults, docstrings and types are in
// the Python files beside it (python/plumbnn).
#include "bind.h"

NB_MODULE(_core, m) {
  using namespace plumb::python;  // NOLINT(google-build-using-namespace): the macro's function is outside
  m.doc() = "Plumb's library. Use plumbnn, which is what is documented.";
  RegisterError(m);
  BindModel(m);
  BindNetwork(m);
  BindCheck(m);
  BindCompare(m);
}
