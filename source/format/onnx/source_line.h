// SPDX-License-Identifier: Apache-2.0
// Where an exporter says that a node was written: PyTorch's keep the stack of the line that made it, torch.export's in
// metadata_props ("pkg.torch.onnx.stack_trace"), TorchScript's in doc_string when it is told to be verbose.
#ifndef PLUMB_FORMAT_ONNX_SOURCE_LINE_H_
#define PLUMB_FORMAT_ONNX_SOURCE_LINE_H_

#include <string>
#include <string_view>

namespace plumb::onnx {

// "/home/me/net.py:6 in forward: y = torch.relu(self.conv(x))": the innermost frame that is not PyTorch's own, else the
// innermost. "": the text is no stack. Of a long line the beginning.
std::string SourceLine(std::string_view stack);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_SOURCE_LINE_H_
