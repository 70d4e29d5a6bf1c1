// SPDX-License-Identifier: Apache-2.0
// JPEG by libjpeg-turbo with its integer or fast inverse DCT, smooth or plain enlarging of the colours; EXIF
// orientation applied or not (Exif 2.32, tag 0x0112); scaled in the decoder; the luma alone; CMYK. PNG of 16 bits, a
// palette or a gamma. Red and blue in either order.
#include "stage/decode.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
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
    case 7: return "height and width exchanged and turned by 180 degrees";
    case 6: return "turned by 90 degrees clockwise";
    case 8: return "turned by 90 degrees anticlockwise";
    default: return "";
  }
}

struct Decoded {
  std::string name, code;
  Picture picture;
};

Status CheckPixels(const ImageSize& size, const std::string& file) {
  if (size.width > 0 && size.height > 0 && size.width <= kMaxDecodedPixels / size.height) return Status::Ok();
  return Status::InvalidArgument(file + " has too many pixels to be replayed");
}

Picture PictureOfBytes(const ImageSize& size, const std::vector<uint8_t>& pixels) {
  Picture picture = MakePicture(size.height, size.width, size.channels, true);
  std::copy(pixels.begin(), pixels.end(), picture.values.begin());
  return picture;
}

Result<Picture> JpegWith(std::string_view bytes, const std::string& file, const ImageSize& size, const JpegWays& ways) {
  PLUMB_RETURN_IF_ERROR(CheckPixels(size, file));
  std::vector<uint8_t> pixels(static_cast<size_t>(size.width * size.height * size.channels));
  PLUMB_RETURN_IF_ERROR(DecodeJpegWith(bytes, file, size, ways, pixels.data()));
  return PictureOfBytes(size, pixels);
}

// Sizes that the decoder may scale to while it decodes: the file's own, and the one that was written where it is one.
std::vector<std::pair<ImageSize, std::string>> SizesOfJpeg(const ImageSize& whole, const Picture& after) {
  std::vector<std::pair<ImageSize, std::string>> sizes = {{whole, ""}};
  for (int64_t eighths = 1; eighths < 8; ++eighths) {
    const int64_t height = (whole.height * eighths + 7) / 8, width = (whole.width * eighths + 7) / 8;
    const bool turned = height == after.width && width == after.height;
    if (!turned && (height != after.height || width != after.width)) continue;
    sizes.push_back({{width, height, whole.channels},
                     fmt::format(", scaled by {}/8 in the decoder (draft, IMREAD_REDUCED)", eighths)});
  }
  return sizes;
}

// CMYK as programs make RGB of it. Files hold it inverted (Adobe's way), which Pillow undoes and OpenCV's formula
// knows.
float PillowCmyk(float ink, float key) {
  const int64_t rest = 255 - static_cast<int64_t>(key), product = static_cast<int64_t>(ink) * rest + 128;
  return static_cast<float>(std::max<int64_t>(0, rest - (((product >> 8) + product) >> 8)));
}
float OpenCvCmyk(float ink, float key) {
  const auto whole = static_cast<int64_t>(key);
  return static_cast<float>(whole - (((255 - static_cast<int64_t>(ink)) * whole) >> 8));
}

Picture RgbOfCmyk(const Picture& cmyk, bool inverted, float (*formula)(float ink, float key)) {
  Picture rgb = MakePicture(cmyk.height, cmyk.width, 3, true);
  for (int64_t i = 0; i < cmyk.height * cmyk.width; ++i) {
    const float* pixel = cmyk.values.data() + i * 4;
    for (int64_t c = 0; c < 3; ++c) {
      const float ink = inverted ? 255 - pixel[c] : pixel[c], key = inverted ? 255 - pixel[3] : pixel[3];
      rgb.values[static_cast<size_t>(i * 3 + c)] = formula(ink, key);
    }
  }
  return rgb;
}

void AddCmyk(const std::string& name, const Picture& cmyk, std::vector<Decoded>* all) {
  Picture inverted = cmyk;
  for (float& value : inverted.values) value = 255 - value;
  all->push_back({name + ", CMYK to RGB as Pillow", "image.convert('RGB')", RgbOfCmyk(cmyk, true, PillowCmyk)});
  all->push_back({name + ", CMYK to RGB as OpenCV", "cv2.imread(path)", RgbOfCmyk(cmyk, false, OpenCvCmyk)});
  all->push_back({name + ", CMYK to RGB, the inversion forgotten", "", RgbOfCmyk(cmyk, false, PillowCmyk)});
  all->push_back({name + ", CMYK as Pillow has it", "", inverted});
  all->push_back({name + ", CMYK as the file has it", "", cmyk});
}

void AddJpeg(std::string_view bytes, const std::string& file, const Picture& after, std::vector<Decoded>* all) {
  const std::pair<const char*, JpegWays> rows[] = {
      {"libjpeg-turbo's islow DCT and smooth colours (Pillow, OpenCV)", {false, false}},
      {"libjpeg-turbo's islow DCT and plain colours (fancy upsampling off)", {false, true}},
      {"libjpeg-turbo's ifast DCT and smooth colours", {true, false}},
      {"libjpeg-turbo's ifast DCT and plain colours", {true, true}},
  };
  const auto whole = AnyJpegSize(bytes, file);
  if (!whole.ok()) return;
  for (const auto& [size, scaled] : SizesOfJpeg(*whole, after)) {
    for (const auto& [name, ways] : rows) {
      auto picture = JpegWith(bytes, file, size, ways);
      if (picture.ok() && size.channels == 4) {
        AddCmyk(name + scaled, *picture, all);
      } else if (picture.ok()) {
        all->push_back({name + scaled, "", std::move(*picture)});
      }
      if (size.channels != 3 || after.channels != 1 || ways.plain_colours) continue;
      auto luma = JpegWith(bytes, file, {size.width, size.height, 1}, ways);
      if (luma.ok())
        all->push_back({name + scaled + ", the luma alone (IMREAD_GRAYSCALE, draft('L'))",
                        "cv2.imread(path, cv2.IMREAD_GRAYSCALE)", std::move(*luma)});
    }
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

template <class Function>
Picture PictureOfPng(const PngPixels& png, bool as_bytes, Function function) {
  Picture picture = MakePicture(png.size.height, png.size.width, png.size.channels, as_bytes);
  std::transform(png.values.begin(), png.values.end(), picture.values.begin(),
                 [&](uint16_t value) { return function(static_cast<float>(value)); });
  return picture;
}

// Screens of this gamma are what programs assume that apply a file's.
Picture WithGamma(const Picture& picture, double of_file) {
  constexpr double kScreen = 2.2;
  Picture after = picture;
  for (size_t i = 0; i < after.values.size(); ++i) {
    const bool alpha = picture.channels % 2 == 0 && static_cast<int64_t>(i) % picture.channels == picture.channels - 1;
    if (!alpha)
      after.values[i] = ToByte(255 * std::pow(static_cast<double>(picture.values[i]) / 255, 1 / (kScreen * of_file)));
  }
  return after;
}

void AddPng(std::string_view bytes, const std::string& file, std::vector<Decoded>* all) {
  const auto same = [](float value) { return value; };
  const auto high = DecodePngWith(bytes, file, {});
  if (!high.ok()) return;
  const bool deep = high->bits == 16;
  const Picture plain = PictureOfPng(*high, true, same);
  all->push_back({deep ? "the high bytes of 16 bits (OpenCV)" : "the file's own pixels", "", plain});
  if (high->palette) {
    const auto indices = DecodePngWith(bytes, file, {true, false});
    if (indices.ok())
      all->push_back({"the indices of the palette", "image.convert('RGB')", PictureOfPng(*indices, true, same)});
  }
  if (deep) {
    const auto whole = DecodePngWith(bytes, file, {false, true});
    if (!whole.ok()) return;
    all->push_back({"16 bits as they are (IMREAD_UNCHANGED)", "", PictureOfPng(*whole, false, same)});
    all->push_back({"16 bits / 257, rounded", "",
                    PictureOfPng(*whole, true, [](float value) { return ToByte(static_cast<double>(value) / 257); })});
    all->push_back({"16 bits cut off at 255 (convert('L') of Pillow's I;16)", "",
                    PictureOfPng(*whole, true, [](float value) { return std::min(value, 255.0f); })});
  }
  if (high->gamma > 0) all->push_back({"the gamma of the file applied", "", WithGamma(plain, high->gamma)});
}

void AddBmp(std::string_view bytes, const std::string& file, std::vector<Decoded>* all) {
  const auto size = BmpSize(bytes, file);
  if (!size.ok() || !CheckPixels(*size, file).ok()) return;
  std::vector<uint8_t> pixels(static_cast<size_t>(size->width * size->height * size->channels));
  if (DecodeBmp(bytes, file, *size, pixels.data()).ok())
    all->push_back({"the file's own pixels", "", PictureOfBytes(*size, pixels)});
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
      one.also.clear();  // another convention of the same picture says nothing of the file
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
    AddJpeg(bytes->text(), path, after, &all);
  } else if (bytes->text().substr(0, 4) == "\x89PNG") {
    AddPng(bytes->text(), path, &all);
  } else if (bytes->text().substr(0, 2) == "BM") {
    AddBmp(bytes->text(), path, &all);
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
