// SPDX-License-Identifier: Apache-2.0
// A file that cmake/PlumbEmbed.cmake put into the binary: kernel source or SPIR-V.
#ifndef PLUMB_BASE_EMBED_H_
#define PLUMB_BASE_EMBED_H_

#include <cstddef>
#include <string_view>

namespace plumb {

struct EmbeddedFile {
  const char* name;  // without folders
  const unsigned char* data;
  const unsigned char* end;

  size_t bytes() const { return static_cast<size_t>(end - data); }
  std::string_view text() const { return {reinterpret_cast<const char*>(data), bytes()}; }
};

}  // namespace plumb

#endif  // PLUMB_BASE_EMBED_H_
