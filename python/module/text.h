// SPDX-License-Identifier: Apache-2.0
// std::string and Python's str, instead of nanobind's own: names and paths may hold bytes that are no UTF-8. They come
// and go as Python has them in paths (surrogateescape).
#ifndef PLUMB_PYTHON_TEXT_H_
#define PLUMB_PYTHON_TEXT_H_

#include <nanobind/nanobind.h>

#include <string>

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  bool from_python(handle src, uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    if (PyUnicode_Check(src.ptr()) == 0) return false;
    PyObject* bytes = PyUnicode_AsEncodedString(src.ptr(), "utf-8", "surrogateescape");
    if (bytes == nullptr) {
      PyErr_Clear();
      return false;
    }
    value.assign(PyBytes_AsString(bytes), static_cast<size_t>(PyBytes_Size(bytes)));
    Py_DECREF(bytes);
    return true;
  }

  static handle from_cpp(const std::string& text, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)

#endif  // PLUMB_PYTHON_TEXT_H_
