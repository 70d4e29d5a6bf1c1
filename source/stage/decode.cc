// SPDX-License-Identifier: Apache-2.0
// JPEG by libjpeg-turbo with its integer or fast inverse DCT, smooth or plain enlarging of the colours; EXIF
// orientation applied or not (Exif 2.32, tag 0x0112); red and blue in either order; one or three channels. PNG and BMP
// as they are.
#include "stage/decode.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "tensor/image_decode.h"

namespace plumb {
namespace {

constexpr uint64_t kMaxImageFile = uint64_t{1} << 28;
constexpr int64_t kMaxDecodedPixels = int64_t{1} << 26;

std::string FileOf(const StageRecord& stage) {
  const StageValue* file = stage.info.Find("file");
  if (file == nullptr || !file->is_text || file->text.empty()) return "";
  std::error_code error;
  if (std::filesystem::is_regular_file(file->text, error)) return file->text;
  const auto beside = std::filesystem::path(stage.path).parent_path() / file->text;
  return std::filesystem::is_regular_file(beside, error) ? beside.string() : "";
}

int Word(std::string_view bytes, size_t at, bool big) {
  if (at + 2 > bytes.size()) return 0;
  const auto first = static_cast<unsigned char>(bytes[at]), second = static_cast<unsigned char>(bytes[at + 1]);
  return big ? first << 8 | second : second << 8 | first;
}

// 1 to 8; 1 where the file says nothing.
int ExifOrientation(std::string_view bytes) {
  const size_t exif = bytes.substr(0, size_t{1} << 16).find(std::string_view("Exif\0\0", 6));
  if (exif == std::string_view::npos) return 1;
  const std::string_view tiff = bytes.substr(exif + 6);
  if (tiff.size() < 8) return 1;
  const bool big = tiff[0] == 'M';
  const size_t directory = static_cast<size_t>(Word(tiff, big ? 6 : 4, big));
  const int entries = Word(tiff, directory, big);
  for (int i = 0; i < entries && i < 256; ++i) {
    const size_t entry = directory + 2 + static_cast<size_t>(i) * 12;
    if (Word(tiff, entry, big) != 0x0112) continue;
    const int value = Word(tiff, entry + 8, big);
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

// What each orientation is, of those in order.cc.
const char* TurnOf(int orientation) {
  switch (orientation) {
    case 2: return "mirrored left to right";
    case 3: return "turned by 180 degrees";
    case 4: return "upside down";
    case 5: return "height and width exchanged";
    case 6: return "turned by 90 degrees clockwise";
    case 8: return "turned by 90 degrees anticlockwise";
    default: return "";
  }
}

struct Decoded {
  std::string name, code;
  Picture picture;
};

Result<Picture> DecodeWith(std::string_view bytes, const std::string& file, const JpegWays* ways) {
  const bool jpeg = ways != nullptr, png = bytes.substr(0, 4) == "\x89PNG";
  PLUMB_ASSIGN_OR_RETURN(const ImageSize size, jpeg  ? JpegSize(bytes, file)
                                               : png ? PngSize(bytes, file)
                                                     : BmpSize(bytes, file));
  if (size.width <= 0 || size.height <= 0 || size.width > kMaxDecodedPixels / size.height)
    return Status::InvalidArgument(file + " has too many pixels to be replayed");
  std::vector<uint8_t> pixels(static_cast<size_t>(size.width * size.height * size.channels));
  PLUMB_RETURN_IF_ERROR(jpeg  ? DecodeJpegWith(bytes, file, size, *ways, pixels.data())
                        : png ? DecodePng(bytes, file, size, pixels.data())
                              : DecodeBmp(bytes, file, size, pixels.data()));
  Picture picture = MakePicture(size.height, size.width, size.channels, true);
  std::copy(pixels.begin(), pixels.end(), picture.values.begin());
  return picture;
}

void AddJpeg(std::string_view bytes, const std::string& file, std::vector<Decoded>* all) {
  const std::pair<const char*, JpegWays> rows[] = {
      {"libjpeg-turbo's islow DCT and smooth colours (Pillow, OpenCV)", {false, false}},
      {"libjpeg-turbo's islow DCT and plain colours (fancy upsampling off)", {false, true}},
      {"libjpeg-turbo's ifast DCT and smooth colours", {true, false}},
      {"libjpeg-turbo's ifast DCT and plain colours", {true, true}},
  };
  for (const auto& [name, ways] : rows) {
    auto picture = DecodeWith(bytes, file, &ways);
    if (picture.ok()) all->push_back({name, "", std::move(*picture)});
  }
  const char* turn = TurnOf(ExifOrientation(bytes));
  if (*turn == '\0') return;
  std::vector<Convention> orders;
  AddOrder(&orders);
  for (size_t i = 0, count = all->size(); i < count; ++i) {
    for (const Convention& order : orders) {
      if (order.name != turn) continue;
      for (const bool turned : {false, true}) {
        const Picture& from = (*all)[i].picture;
        const int64_t height = turned ? from.width : from.height, width = turned ? from.height : from.width;
        auto picture = order.run(from, {height, width, from.channels, true, nullptr});
        if (!picture.has_value()) continue;
        all->push_back({(*all)[i].name + fmt::format(", the EXIF orientation applied ({})", turn),
                        "image = ImageOps.exif_transpose(image)", std::move(*picture)});
        break;
      }
    }
    (*all)[i].name += ", the EXIF orientation not applied";
  }
}

// What each decoder gave, as it is or with what else a reader does: red and blue exchanged, grey, alpha, a turn.
void AddDecoded(const std::vector<Decoded>& all, bool as_it_is, const StageRecord& stage, const Picture& after,
                std::vector<Explained>* found) {
  for (const Decoded& decoded : all) {
    for (const Explained& then : ExplainPicture(decoded.picture, after, stage.info, stage.dtype)) {
      const bool same = then.convention.name == "the values as they are";
      const bool swapped = then.convention.name == kSwapped;
      if ((!then.reproduces && !same) || (as_it_is && !same && !swapped)) continue;
      Explained one = then;
      one.convention.name = same ? decoded.name : decoded.name + ", " + then.convention.name;
      one.convention.group = one.convention.name;
      one.convention.code = !decoded.code.empty() ? decoded.code : then.convention.code;
      // There is no picture before a decoder: on the other side the same file gives the same.
      one.convention.of_one = [result = after](const Picture&, const PictureTarget&) -> std::optional<Picture> {
        return result;
      };
      found->push_back(std::move(one));
      break;
    }
    if (!found->empty() && found->back().reproduces) return;
  }
}

}  // namespace

std::vector<Explained> ExplainDecode(const StageRecord& stage, const Picture& after) {
  const std::string path = FileOf(stage);
  if (path.empty()) return {};
  const auto bytes = ReadFile(path, kMaxImageFile);
  if (!bytes.ok()) return {};
  std::vector<Decoded> all;
  if (bytes->text().substr(0, 2) == "\xFF\xD8") {
    AddJpeg(bytes->text(), path, &all);
  } else if (bytes->text().substr(0, 4) == "\x89PNG" || bytes->text().substr(0, 2) == "BM") {
    auto picture = DecodeWith(bytes->text(), path, nullptr);
    if (picture.ok()) all.push_back({"the file's own pixels", "", std::move(*picture)});
  }
  std::vector<Explained> found;
  for (const bool as_it_is : {true, false}) {
    if (found.empty() || !found.back().reproduces) AddDecoded(all, as_it_is, stage, after, &found);
  }
  std::stable_sort(found.begin(), found.end(), [](const Explained& a, const Explained& b) {
    return a.reproduces != b.reproduces ? a.reproduces : a.difference.sum_abs < b.difference.sum_abs;
  });
  return found;
}

}  // namespace plumb
