// SPDX-License-Identifier: Apache-2.0
// Small models in memory for the tests of the tnnproto and tnnmodel readers.
#ifndef PLUMB_TEST_FORMAT_TNN_TNN_TEST_UTIL_H_
#define PLUMB_TEST_FORMAT_TNN_TNN_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/file.h"
#include "format/tnn/model.h"
#include "format/tnn/proto.h"
#include "graph/resources.h"

namespace plumb::tnn {

// A copy on the heap of exactly that size, so that a sanitizer sees a read past the end.
inline FileBytes BytesOf(const std::string& text) {
  void* memory = std::malloc(text.empty() ? 1 : text.size());
  std::memcpy(memory, text.data(), text.size());
  return FileBytes(std::shared_ptr<void>(memory, std::free), text.size());
}

inline Graph ParseOrDie(const std::string& text) {
  Result<Proto> proto = ParseProto(text, "test.tnnproto");
  EXPECT_TRUE(proto.ok()) << proto.status().ToString();
  return proto.ok() ? std::move(proto->graph) : Graph();
}

inline std::string Written(const Graph& graph, int version) {
  std::string bytes;
  const auto append = [&bytes](const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return Status::Ok();
  };
  const Status status = WriteModel(graph, version, append);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return bytes;
}

// A v2 description around these layer lines (without quotes and commas); every line break is a new layer.
inline std::string ProtoText(const std::string& layers, const std::string& input = "x 4 1 2 3 3 0",
                             const std::string& output = "y") {
  std::string text = "\"1 2 1 4206624772 ,\"\n\"" + input + " ,\"\n\" ,\"\n\"" + output + " ,\"\n";
  std::string lines;
  int count = 0;
  size_t begin = 0;
  while (begin < layers.size()) {
    const size_t end = std::min(layers.find('\n', begin), layers.size());
    lines += "\"" + layers.substr(begin, end - begin) + " ,\"\n";
    begin = end + 1;
    ++count;
  }
  return text + "\" " + std::to_string(count) + " ,\"\n" + lines;
}

inline std::string FromHex(const std::string& hex) {
  std::string bytes;
  std::string digits;
  for (const char c : hex) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes += static_cast<char>(std::stoi(digits, nullptr, 16));
    digits.clear();
  }
  return bytes;
}

}  // namespace plumb::tnn

#endif  // PLUMB_TEST_FORMAT_TNN_TNN_TEST_UTIL_H_
