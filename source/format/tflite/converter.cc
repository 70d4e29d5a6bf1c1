// SPDX-License-Identifier: Apache-2.0
#include "format/tflite/converter.h"

#include <fmt/core.h>

#include <charconv>

namespace plumb::tflite {
namespace {

// The bytes of the metadata of that name.
std::string MetadataOf(const ModelFile& file, const char* name) {
  const auto* all = file.root().metadata();
  for (flatbuffers::uoffset_t i = 0; all != nullptr && i < all->size(); ++i) {
    const schema::Metadata* entry = all->Get(i);
    if (Text(entry->name()) == name) return std::string(file.Data(entry->buffer()));
  }
  return "";
}

// Whether the version is at least that one; false for what is no version.
bool IsAtLeast(const std::string& version, int major, int minor) {
  int found_major = 0, found_minor = 0;
  const char* end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, found_major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return false;
  const auto second = std::from_chars(first.ptr + 1, end, found_minor);
  if (second.ec != std::errc()) return false;
  return found_major > major || (found_major == major && found_minor >= minor);
}

// Resizes of the first subgraph whose options name neither the pixels' middles nor the images' corners.
int CountCornerResizes(const ModelFile& file) {
  int count = 0;
  const auto* operators = file.graph(0).operators();
  for (flatbuffers::uoffset_t i = 0; operators != nullptr && i < operators->size(); ++i) {
    const schema::Operator& op = *operators->Get(i);
    const auto* bilinear = op.builtin_options_as<schema::ResizeBilinearOptions>();
    const auto* nearest = op.builtin_options_as<schema::ResizeNearestNeighborOptions>();
    count += bilinear != nullptr && !bilinear->align_corners() && !bilinear->half_pixel_centers();
    count += nearest != nullptr && !nearest->align_corners() && !nearest->half_pixel_centers();
  }
  return count;
}

}  // namespace

std::string ConverterVersion(const ModelFile& file) {
  const std::string bytes = MetadataOf(file, "CONVERSION_METADATA");  // a flatbuffer of its own
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (!verifier.VerifyBuffer<schema::ConversionMetadata>(nullptr)) return "";
  const auto* metadata = flatbuffers::GetRoot<schema::ConversionMetadata>(bytes.data());
  return metadata->environment() == nullptr ? "" : Text(metadata->environment()->tensorflow_version());
}

std::vector<std::string> ConverterNotes(const ModelFile& file) {
  const std::string version = ConverterVersion(file);
  const int resizes = CountCornerResizes(file);
  // No converter asks for a runtime that is newer than itself.
  const bool newer = IsAtLeast(version, 2, 3) || IsAtLeast(MetadataOf(file, "min_runtime_version"), 2, 3);
  if (resizes == 0 || newer) return {};
  return {fmt::format(
      "{} of its resizes take{} the pixels' corners for their places; converters before TensorFlow 2.3 wrote this of "
      "every resize, also where the network takes the middles, and {}",
      resizes, resizes == 1 ? "s" : "",
      version.empty() ? "the file does not say which one made it" : fmt::format("{} made this file", version))};
}

}  // namespace plumb::tflite
