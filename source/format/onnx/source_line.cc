// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/source_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace plumb::onnx {
namespace {

constexpr size_t kMaxText = 300;     // bytes of what is shown
constexpr size_t kMaxStack = 65536;  // bytes that are read of one node's

struct Frame {
  std::string_view file, line, function, code;

  bool is_torch() const {
    for (const char* folder : {"-packages/torch/", "-packages\\torch\\", "<frozen "}) {
      if (file.find(folder) != std::string_view::npos) return true;
    }
    return false;
  }
};

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// File "/home/me/net.py", line 6, in forward
std::optional<Frame> TracebackFrame(std::string_view text) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kIn = ", in ";
  if (text.substr(0, kFile.size()) != kFile) return std::nullopt;
  const size_t line = text.rfind(kLine), in = text.find(kIn, line == std::string_view::npos ? 0 : line);
  if (line == std::string_view::npos || in == std::string_view::npos) return std::nullopt;
  Frame frame;
  frame.file = text.substr(kFile.size(), line - kFile.size());
  frame.line = text.substr(line + kLine.size(), in - line - kLine.size());
  frame.function = text.substr(in + kIn.size());
  return IsNumber(frame.line) ? std::optional(frame) : std::nullopt;
}

// /home/me/net.py(6): forward
std::optional<Frame> TorchScriptFrame(std::string_view text) {
  const size_t close = text.rfind("): "), open = text.rfind('(', close);
  if (close == std::string_view::npos || open == std::string_view::npos || open == 0) return std::nullopt;
  Frame frame;
  frame.file = text.substr(0, open);
  frame.line = text.substr(open + 1, close - open - 1);
  frame.function = text.substr(close + 3);
  const bool is_file = EndsWith(frame.file, ".py") || frame.file[0] == '<';  // <ipython-input-3>
  return is_file && IsNumber(frame.line) ? std::optional(frame) : std::nullopt;
}

}  // namespace

std::string SourceLine(std::string_view stack) {
  stack = stack.substr(0, kMaxStack);
  Frame outside, innermost;  // a traceback has the innermost frame last, TorchScript's first
  bool code_follows = false;
  while (!stack.empty()) {
    const size_t end = std::min(stack.find('\n'), stack.size());
    const std::string_view text = Trimmed(stack.substr(0, end));
    stack.remove_prefix(std::min(end + 1, stack.size()));
    if (const auto frame = TracebackFrame(text)) {
      innermost = *frame;
      if (!frame->is_torch()) outside = *frame;
      code_follows = true;
    } else if (code_follows) {
      innermost.code = text;
      if (outside.line.data() == innermost.line.data()) outside.code = text;
      code_follows = false;
    } else if (const auto called = TorchScriptFrame(text)) {
      if (innermost.file.empty()) innermost = *called;
      if (outside.file.empty() && !called->is_torch()) outside = *called;
    }
  }
  const Frame& frame = outside.file.empty() ? innermost : outside;
  if (frame.file.empty()) return "";
  std::string text = fmt::format("{}:{} in {}", frame.file, frame.line, frame.function);
  if (!frame.code.empty()) text += fmt::format(": {}", frame.code);
  return text.substr(0, kMaxText);
}

}  // namespace plumb::onnx
