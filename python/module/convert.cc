// SPDX-License-Identifier: Apache-2.0
#include "convert.h"

#include <nanobind/ndarray.h>

#include <memory>
#include <new>
#include <system_error>

#include "plumb/tool/printing.h"

namespace plumb::python {
namespace {

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

DType DTypeFrom(nb::dlpack::dtype found, bool bf16) {
  struct Row {
    nb::dlpack::dtype_code code;
    int bits;
    DType dtype;
  };
  using Code = nb::dlpack::dtype_code;
  constexpr Row kRows[] = {
      {Code::Float, 32, DType::kF32},   {Code::Float, 16, DType::kF16}, {Code::Float, 64, DType::kF64},
      {Code::Bfloat, 16, DType::kBF16}, {Code::Int, 8, DType::kI8},     {Code::Int, 16, DType::kI16},
      {Code::Int, 32, DType::kI32},     {Code::Int, 64, DType::kI64},   {Code::UInt, 8, DType::kU8},
      {Code::UInt, 16, DType::kU16},    {Code::UInt, 32, DType::kU32},  {Code::Bool, 8, DType::kBool},
  };
  if (bf16) return DType::kBF16;
  for (const Row& row : kRows) {
    if (found.code == static_cast<uint8_t>(row.code) && found.bits == row.bits && found.lanes == 1) return row.dtype;
  }
  throw StatusError{
      Status::InvalidArgument("expected an array of float16, bfloat16, float32, float64, int8 to int64, uint8 to "
                              "uint32 or bool, found one of " +
                              std::to_string(found.bits) + " bits of another kind")};
}

nb::dlpack::dtype DTypeTo(DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * DTypeSize(dtype));
  const auto code = [&] {
    switch (dtype) {
      case DType::kF32:
      case DType::kF16:
      case DType::kF64: return nb::dlpack::dtype_code::Float;
      case DType::kBF16: return nb::dlpack::dtype_code::Bfloat;
      case DType::kBool: return nb::dlpack::dtype_code::Bool;
      case DType::kU8:
      case DType::kU16:
      case DType::kU32: return nb::dlpack::dtype_code::UInt;
      default: return nb::dlpack::dtype_code::Int;
    }
  }();
  return {static_cast<uint8_t>(code), bits, 1};
}

thread_local Ending* current_ending = nullptr;

void RaiseError(const Status& status) {
  const nb::object type = nb::module_::import_("plumbnn._errors").attr("Error");
  const std::string message = PrintableMessage(status.message());
  const nb::str code(StatusCodeName(status.code())), text(message.data(), message.size());
  const nb::object value = Invoke(type, "from_status", {code, text});
  PyErr_SetObject(type.ptr(), value.ptr());
}

}  // namespace

void RegisterError(nb::module_& /*module*/) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const StatusError& error) {
      RaiseError(error.status);
    } catch (const std::bad_alloc&) {
      RaiseError(Status::OutOfMemory("no memory for what this call needs (ulimit -v, or the machine is full)"));
    } catch (const std::system_error& error) {
      RaiseError(Status::DeviceError(std::string("the system refuses a thread or a lock: ") + error.what()));
    }
  });
}

Tensor ToTensor(nb::handle array, bool bf16) {
  AnyArray view;
  if (!nb::try_cast(array, view)) {
    throw nb::type_error("expected an array in host memory (numpy, DLPack or __array__)");
  }
  const DType dtype = DTypeFrom(view.dtype(), bf16);
  std::vector<int64_t> dims;
  for (size_t i = 0; i < view.ndim(); ++i) dims.push_back(static_cast<int64_t>(view.shape(i)));
  const Shape shape(dims);
  ThrowIfError(shape.Validate());
  if (view.size() == 0) return ValueOf(Tensor::Zeros(dtype, shape));
  void* data = const_cast<void*>(static_cast<const void*>(view.data()));
  // The last copy of the tensor may go on a thread without the GIL.
  auto* kept = new AnyArray(std::move(view));
  return Tensor::View(dtype, shape, data, std::shared_ptr<void>(kept, [](void* one) {
                        const WithGil acquire;
                        delete static_cast<AnyArray*>(one);
                      }));
}

std::map<std::string, Tensor> ToTensors(const Arrays& arrays) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, array] : arrays) tensors[name] = ToTensor(array.first, array.second);
  return tensors;
}

nb::object ToArray(const Tensor& tensor) {
  if (tensor.empty()) return nb::none();
  auto kept =
      std::make_unique<Tensor>(tensor.dtype() == DType::kBF16 ? ValueOf(tensor.ConvertedTo(DType::kF32)) : tensor);
  const Tensor& value = *kept;
  std::vector<size_t> dims;
  for (const int64_t dim : value.shape().dims()) dims.push_back(static_cast<size_t>(dim));
  void* data = kept->raw();
  const nb::dlpack::dtype dtype = DTypeTo(value.dtype());
  const nb::capsule owner(kept.release(), [](void* one) noexcept { delete static_cast<Tensor*>(one); });
  return nb::cast(
      nb::ndarray<nb::numpy>(data, dims.size(), dims.data(), owner, nullptr, dtype, nb::device::cpu::value));
}

nb::dict ToArrays(const std::map<std::string, Tensor>& tensors) {
  nb::dict arrays;
  for (const auto& [name, tensor] : tensors) arrays[nb::cast(name)] = ToArray(tensor);
  return arrays;
}

std::map<std::string, Shape> ToShapes(const std::map<std::string, std::vector<int64_t>>& shapes) {
  std::map<std::string, Shape> result;
  for (const auto& [name, dims] : shapes) result[name] = Shape(dims);
  return result;
}

void Ending::Keep(nb::python_error error) {
  if (error_ == nullptr) error_ = std::make_unique<nb::python_error>(std::move(error));
}

void Ending::Rethrow() {
  ThrowIfLeaving();
  if (error_ != nullptr) throw nb::python_error(std::move(*error_));
}

bool Ending::Wanted() {
  constexpr auto kPause = std::chrono::milliseconds(30);
  if (error_ != nullptr || Leaving()) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_ < kPause) return false;
  asked_ = now;
  const WithGil acquire;
  if (PyErr_CheckSignals() == 0) return false;
  Keep(nb::python_error());  // takes what is set
  return true;
}

Ending* CurrentEnding() { return current_ending; }
EndingScope::EndingScope() : outer_(current_ending) { current_ending = &ending; }
EndingScope::~EndingScope() { current_ending = outer_; }

}  // namespace plumb::python
