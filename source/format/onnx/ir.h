// SPDX-License-Identifier: Apache-2.0
// The ONNX model as the importer sees it: nodes, attributes, tensors, free of protobuf. parse.cc fills it, import.cc
// and the mappers (one file per operator family) read it.
//
// Tensors carry the dtypes that the runtime carries (design decision 6): i8, u8, i16, u16, u32 and u64 have become i64,
// `type` keeps ONNX's number. Names are the file's.
#ifndef PLUMB_FORMAT_ONNX_IR_H_
#define PLUMB_FORMAT_ONNX_IR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/small_float.h"
#include "plumb/model.h"
#include "plumb/tensor.h"

namespace plumb::onnx {

// ONNX's numbers of element types.
enum ElementType {
  kTypeUnknown = 0,
  kTypeFloat = 1,
  kTypeUint8 = 2,
  kTypeInt8 = 3,
  kTypeUint16 = 4,
  kTypeInt16 = 5,
  kTypeInt32 = 6,
  kTypeInt64 = 7,
  kTypeString = 8,
  kTypeBool = 9,
  kTypeFloat16 = 10,
  kTypeDouble = 11,
  kTypeUint32 = 12,
  kTypeUint64 = 13,
  kTypeBfloat16 = 16,
  kTypeFloat8E4M3FN = 17,
  kTypeFloat8E4M3FNUZ = 18,
  kTypeFloat8E5M2 = 19,
  kTypeFloat8E5M2FNUZ = 20,
  kTypeUint4 = 21,
  kTypeInt4 = 22,
  kTypeFloat4E2M1 = 23,
  kTypeUint2 = 25,
  kTypeInt2 = 26,
};

// "float", "uint8", "type 23" for a number that has no name here.
std::string TypeName(int type);
// The dtype that a type is carried in; Status for strings, complex numbers and what Plumb does not know.
Result<DType> CarriedDType(int type);
// The dtype that the file stores, or kI64 for u64; Status as above.
Result<DType> StoredDType(int type);
// The ONNX number of a dtype.
int TypeOf(DType dtype);
// A type that no dtype stores: integers of 2 and 4 bits, carried as i64, and floats of 4 and 8 bits, carried as f32.
// Files hold them packed, lowest bits first.
struct TinyType {
  int type;
  int bits;
  const char* integer;            // "i4", "u4" ..., or null
  const SmallFloat* small_float;  // or null
  float low, high;                // of integers
};
// Null for every other type.
const TinyType* FindTiny(int type);

// True for integers below 32 bits and u32: carried as i64, wrapped around after each operator that can leave the range.
bool IsNarrowInteger(int type);

struct GraphIr;

struct ConstantIr {
  Tensor value;  // empty: cannot be read (strings, ...), `why` says it
  int type = kTypeUnknown;
  std::string why;
};

struct AttributeIr {
  enum Kind { kNone, kInt, kFloat, kString, kTensor, kGraph, kInts, kFloats, kStrings, kOther };
  Kind kind = kNone;
  int64_t i = 0;
  float f = 0;
  std::string s;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
  ConstantIr tensor;
  std::shared_ptr<const GraphIr> graph;
  // Of no file, which would say the kind: a number stands for a list of one, too, a whole one for a float; all fields
  // hold it.
  bool untyped = false;
  std::string reference;  // in a function: the name of the function's attribute that stands here
};

using AttributeMap = std::map<std::string, AttributeIr>;

struct NodeIr {
  std::string name, op_type, domain;
  std::vector<std::string> inputs, outputs;
  AttributeMap attributes;
  std::string source_line;  // source_line.h
  int file_node = -1;       // its place in ModelIr::file_nodes; -1: it is in none, or in an inner graph
};

// Its name in messages and reports: of a node without one that of its first output, else its operator's.
std::string NameOf(const NodeIr& node);

struct ValueInfoIr {
  enum Kind { kTensor, kSequence, kOptional, kOther };
  std::string name;
  Kind kind = kTensor;
  int type = kTypeUnknown;
  bool has_shape = false;
  std::vector<int64_t> dims;           // -1: open
  std::vector<std::string> dim_names;  // "N" where open, else ""
};

struct GraphIr {
  std::string name;
  std::vector<NodeIr> nodes;
  std::map<std::string, ConstantIr> constants;
  std::vector<ValueInfoIr> inputs, outputs;
  std::vector<std::string> kept;  // values that are computed though nobody reads them: what a variable takes
};

struct FunctionIr {
  std::string domain, name;
  std::vector<std::string> inputs, outputs, attributes;
  AttributeMap defaults;
  std::vector<NodeIr> nodes;
  std::map<std::string, int> opsets;
};

struct ModelIr {
  std::string source;  // the file, for messages
  int64_t ir_version = 0;
  std::string producer;
  std::string format = "ONNX";        // whose nodes they were, for notes
  std::map<std::string, int> opsets;  // by domain; "" is ONNX's own
  GraphIr graph;
  std::vector<FunctionIr> functions;
  std::vector<FileNodes::Node> file_nodes;  // the file's operators, whose fate is not known yet
};

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_IR_H_
