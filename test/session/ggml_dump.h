// SPDX-License-Identifier: Apache-2.0
// A dump of ggml that carries its own graph, written entry by entry as examples/hooks/ggml_hook.h does.
#ifndef PLUMB_TEST_SESSION_GGML_DUMP_H_
#define PLUMB_TEST_SESSION_GGML_DUMP_H_

#include "base/file.h"
#include "plumb/session.h"
#include "session/session_test_util.h"

namespace plumb {

class GgmlDump : public ScratchFolder {
 protected:
  static std::string List(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "\"" : ", \"") + word + "\"";
    return "[" + text + "]";
  }
  struct Entry {
    std::string blob, op, type, ne, nb, shape;
    std::vector<std::string> inputs;
    std::string view_of = {}, offset = "0", direction = "out", params = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
  };
  void Add(const Entry& e, const std::string& bytes, const std::string& dtype = "f32") {
    ASSERT_TRUE(WriteFile(folder_ + "/" + e.blob + ".raw", bytes).ok());
    files_ += (files_.empty() ? "" : ",\n") + std::string(R"({"file": ")") + e.blob + R"(.raw", "blob": ")" + e.blob +
              R"(", "layer": ")" + e.blob + R"(", "direction": ")" + e.direction + R"(", "type": ")" + e.op +
              R"(", "shape": )" + e.shape + R"(, "dtype": ")" + dtype + R"(", "constant": )" +
              (dtype == "u8" ? "true" : "false") + R"(, "layer_inputs": )" + List(e.inputs) + R"(, "attributes": )" +
              List({"type", e.type, "ne", e.ne, "nb", e.nb, "op_params", e.params, "view_of", e.view_of, "view_offset",
                    e.offset, "buffer", "CPU"}) +
              "}";
  }
  // With one text in place of another, each time that it is there.
  void WriteManifest(const std::string& from = "", const std::string& to = "") {
    std::string text = "{\"files\": [" + files_ + "], \"device\": \"ggml\"}";
    for (size_t at = text.find(from); !from.empty() && at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    ASSERT_TRUE(WriteFile(folder_ + "/manifest.json", text).ok());
  }
  Result<RunReport> Judge() const {
    SessionOptions options;
    options.subject.path = folder_;
    PLUMB_ASSIGN_OR_RETURN(const auto session, Session::Open("", options));
    return session->JudgeSubject();
  }
  std::string Guilty() const {
    const auto report = Judge();
    EXPECT_TRUE(report.ok()) << report.status().message();
    if (!report.ok() || report->first_wrong < 0) return "";
    return report->layers[static_cast<size_t>(report->first_wrong)].step.name;
  }

  std::string files_;
};

}  // namespace plumb

#endif  // PLUMB_TEST_SESSION_GGML_DUMP_H_
