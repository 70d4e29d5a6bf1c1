// SPDX-License-Identifier: Apache-2.0
#include "tensor/zstd.h"

#include <fmt/core.h>

#include <zstd.h>

#include <algorithm>

#include "tensor/unpacked_limit.h"

namespace plumb {

struct ZstdCompressor::State {
  ZSTD_CCtx* context = nullptr;
};

Result<std::string> DecompressZstd(std::string_view bytes, const std::string& path, uint64_t max_bytes) {
  const std::string file = fmt::format("zstd file '{}'", path);
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr) return Status::OutOfMemory("no memory for zstd");
  std::string out;
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  while (true) {
    // Grows with what really comes out, whatever a header promises; one byte above the limit shows that it is exceeded.
    const size_t before = out.size();
    const uint64_t step = std::max<uint64_t>(before / 2, ZSTD_DStreamOutSize());
    out.resize(before + static_cast<size_t>(std::min(step, max_bytes - before + 1)));
    ZSTD_outBuffer output{out.data(), out.size(), before};
    const size_t at = input.pos;
    const size_t hint = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(hint) != 0) {
      return Status::CorruptModel(fmt::format("{}, near byte {}: {}", file, at, ZSTD_getErrorName(hint)));
    }
    const bool has_room = output.pos < output.size;
    out.resize(output.pos);
    if (out.size() > max_bytes) {
      return Status::InvalidArgument(
          fmt::format("{} would unpack to more than the limit of {} bytes {}", file, max_bytes, kUnpackedRule));
    }
    if (hint == 0 && input.pos == input.size) return out;  // 0: a frame is complete
    if (input.pos == input.size && has_room) {
      return Status::CorruptModel(fmt::format("{} ends inside a frame, after {} bytes", file, bytes.size()));
    }
  }
}

ZstdCompressor::ZstdCompressor(int level) : state_(std::make_unique<State>()) {
  state_->context = ZSTD_createCCtx();
  if (state_->context == nullptr) return;
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_checksumFlag, 1);
}

ZstdCompressor::~ZstdCompressor() { ZSTD_freeCCtx(state_->context); }

Status ZstdCompressor::Append(const void* data, size_t size, std::string* out) { return Run(data, size, false, out); }

Status ZstdCompressor::Finish(std::string* out) { return Run(nullptr, 0, true, out); }

Status ZstdCompressor::Run(const void* data, size_t size, bool end, std::string* out) {
  if (state_->context == nullptr) return Status::OutOfMemory("no memory for zstd");
  ZSTD_inBuffer input{data, size, 0};
  size_t left = 1;
  while (end ? left != 0 : input.pos < input.size) {
    const size_t before = out->size();
    out->resize(before + ZSTD_CStreamOutSize());
    ZSTD_outBuffer output{out->data(), out->size(), before};
    left = ZSTD_compressStream2(state_->context, &output, &input, end ? ZSTD_e_end : ZSTD_e_continue);
    out->resize(output.pos);
    if (ZSTD_isError(left) != 0)
      return Status::Internal(std::string("zstd cannot compress: ") + ZSTD_getErrorName(left));
  }
  return Status::Ok();
}

}  // namespace plumb
