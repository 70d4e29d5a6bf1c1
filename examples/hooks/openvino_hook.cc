// SPDX-License-Identifier: Apache-2.0
// OpenVINO: every operator's output becomes an output of the network, and plumb_dump.h writes it from where it lies.
//
//   g++ -std=c++17 -I<openvino>/include -Iinclude openvino_hook.cc <openvino>/libs/libopenvino.so.* -o openvino_hook
//   DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 ./openvino_hook net.onnx input.raw 1,3,48,192
//   model_check -m net.onnx --subject plumb_dump
#include <fstream>
#include <iostream>
#include <openvino/openvino.hpp>
#include <sstream>

#define PLUMB_DUMP_IMPLEMENTATION
#include "plumb_dump.h"

static void Write(plumb_dumper* dump, const std::string& name, const std::string& type, const ov::Tensor& value,
                  int is_input) {
  using ov::element::Type_t;
  static const std::map<Type_t, plumb_dtype> dtypes = {
      {Type_t::f32, PLUMB_F32}, {Type_t::f16, PLUMB_F16}, {Type_t::bf16, PLUMB_BF16}, {Type_t::i8, PLUMB_I8},
      {Type_t::u8, PLUMB_U8},   {Type_t::i32, PLUMB_I32}, {Type_t::i64, PLUMB_I64},   {Type_t::boolean, PLUMB_BOOL}};
  const ov::Shape shape = value.get_shape();
  const ov::Strides strides = value.get_strides();  // in bytes
  const std::vector<int64_t> dims(shape.begin(), shape.end()), steps(strides.begin(), strides.end());
  plumb_dump_place place = PLUMB_DUMP_PLACE_INIT;
  place.type = type.c_str();
  place.is_input = is_input;
  plumb_dump_write(dump, &place, name.c_str(), value.data(), dtypes.at(value.get_element_type()),
                   static_cast<int>(dims.size()), dims.data(), steps.data());
}

int main(int argc, char** argv) {
  if (argc != 4) return std::cerr << "usage: openvino_hook net.onnx input.raw 1,3,48,192\n", 2;
  ov::Core core;
  const auto model = core.read_model(argv[1]);
  std::stringstream dims(argv[3]);
  ov::Shape shape;
  for (std::string dim; std::getline(dims, dim, ',');) shape.push_back(std::stoul(dim));
  model->reshape(ov::PartialShape(shape));
  std::map<std::string, std::string> types;
  for (const auto& op : model->get_ordered_ops()) {
    const std::string type = op->get_type_name();
    if (type == "Parameter" || type == "Result" || type == "Constant") continue;
    for (const auto& output : op->outputs()) {
      for (const std::string& name : output.get_names()) types[name] = type;
      if (!output.get_names().empty()) model->add_output(output);
    }
  }
  auto run = core.compile_model(model, "CPU", ov::hint::inference_precision(ov::element::f32)).create_infer_request();
  ov::Tensor input(ov::element::f32, shape);
  std::ifstream(argv[2], std::ios::binary)
      .read(static_cast<char*>(input.data()), std::streamsize(input.get_byte_size()));
  run.set_input_tensor(input);
  plumb_dumper* dump = plumb_dump_open("openvino", argv[1]);
  plumb_dump_forward(dump);
  Write(dump, model->input().get_any_name(), "Parameter", input, 1);
  run.infer();
  for (const auto& port : run.get_compiled_model().outputs())
    for (const std::string& name : port.get_names()) Write(dump, name, types[name], run.get_tensor(port), 0);
  return plumb_dump_close(dump) == 0 ? 0 : 1;
}
