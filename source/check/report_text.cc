// The report that a person reads: a table with one row per step, the numbers of what is not aligned, outputs, one sentence.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "check/report_util.h"

namespace plumb {
namespace {

constexpr size_t kMaxName = 40;

std::string Pad(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string Cut(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  return "..." + text.substr(text.size() - (width - 3));
}

std::string Short(double value) {
  char text[32];
  if (value == 0) return "0";
  std::snprintf(text, sizeof(text), "%.2e", value);
  return text;
}

std::string Ratio(double value) {
  char text[32];
  if (std::isinf(value)) return "inf";
  std::snprintf(text, sizeof(text), value < 100 ? "%.2f" : "%.1e", value);
  return text;
}

const char* ColorOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAligned: return "\033[32m";
    case Verdict::kNotTested: return "\033[36m";
    case Verdict::kGrey: return "\033[33m";
    case Verdict::kWrong: return "\033[1;31m";
  }
  return "";
}

std::string Painted(Verdict verdict, const ReportStyle& style) {
  return style.color ? ColorOf(verdict) + std::string(VerdictName(verdict)) + "\033[0m" : VerdictName(verdict);
}

struct Widths {
  size_t name = 5, type = 4, kernel = 6, shape = 5;
};

Widths Measure(const RunReport& run) {
  Widths w;
  for (const LayerReport& layer : run.layers) {
    w.name = std::max(w.name, std::min(kMaxName, layer.step.name.size()));
    w.type = std::max(w.type, std::min(kMaxName, TypesOf(layer.step).size()));
    w.kernel = std::max(w.kernel, layer.step.kernel.size());
    const OutputReport* worst = layer.Worst();
    if (worst != nullptr) w.shape = std::max(w.shape, worst->shape.ToString().size());
  }
  return w;
}

std::string Row(const LayerReport& layer, const Widths& w, const ReportStyle& style) {
  char index[16];
  std::snprintf(index, sizeof(index), "%05d", layer.step.index);
  const OutputReport* o = layer.Worst();
  std::string row = std::string(index) + "  " + Pad(Cut(layer.step.name, kMaxName), w.name) + "  " +
                    Pad(Cut(TypesOf(layer.step), kMaxName), w.type) + "  " + Pad(layer.step.kernel, w.kernel) + "  ";
  if (o == nullptr) {
    row += Pad("-", w.shape) + "  " + Pad("-", 9) + "  " + Pad("-", 9) + "  " + Pad("-", 8) + "  " + Pad("-", 8) + "  ";
  } else {
    row += Pad(o->shape.ToString(), w.shape) + "  " + Pad(Short(o->introduced.max_abs), 9) + "  " +
           Pad(Short(o->inherited.max_abs), 9) + "  " + Pad(Ratio(o->excess), 8) + "  " + Pad(Ratio(o->rms_excess), 8) + "  ";
  }
  row += Painted(layer.verdict, style);
  if (!layer.reason.empty()) row += ": " + layer.reason;
  return row + "\n";
}

std::string DiffLine(const char* label, const DiffMetrics& m, const Shape& shape) {
  char text[256];
  std::snprintf(text, sizeof(text), "       %-10s max abs %.3e  max rel %.3e  cosine %.9f  SNR %.1f dB  max ULP %.3g", label,
                m.max_abs, m.max_rel, m.cosine, m.snr_db, m.max_ulp);
  std::string line = text;
  if (m.worst >= 0) {
    std::snprintf(text, sizeof(text), "  worst at %s: %.9g, expected %.9g", Coordinates(m.worst, shape).c_str(), m.worst_a, m.worst_b);
    line += text;
  }
  if (m.nan_a + m.inf_a + m.nan_b + m.inf_b > 0) {
    line += "  NaN/Inf " + std::to_string(m.nan_a) + "/" + std::to_string(m.inf_a) + ", expected " + std::to_string(m.nan_b) +
            "/" + std::to_string(m.inf_b);
  }
  return line + "\n";
}

std::string Details(const OutputReport& o) {
  char text[160];
  std::snprintf(text, sizeof(text), "       E %.3g  R %.3g  R of a channel %.3g  smallest visible fault %.2g (relative)  bound level %d\n",
                o.excess, o.rms_excess, o.channel_excess, o.smallest_fault, o.level);
  return "       blob '" + o.blob + "' " + DTypeName(o.dtype) + " " + o.shape.ToString() + " " + o.layout + "\n" + text +
         DiffLine("introduced", o.introduced, o.shape) + DiffLine("inherited", o.inherited, o.shape);
}

std::string TopLine(const char* label, const Tensor& tensor, const std::vector<int64_t>& top) {
  std::string line = "    " + Pad(label, 10);
  char text[64];
  for (int64_t i : top) {
    std::snprintf(text, sizeof(text), "  #%lld %.6g", static_cast<long long>(i), tensor.ValueAt(i));
    line += text;
  }
  return line + "\n";
}

// Three columns: a wrong conversion parts NAIVE from the golden, a wrong kernel parts the device from NAIVE.
std::string GoldenTable(const RunReport& run, const Widths& w, const ReportStyle& style) {
  std::string text = "against the golden (max abs)\nindex  " + Pad("layer", w.name) + "  " + Pad("type", w.type) +
                     "  NAIVE-golden  device-NAIVE  device-golden  conversion  kernel\n";
  for (const LayerReport& layer : run.layers) {
    for (const OutputReport& o : layer.outputs) {
      char index[16];
      std::snprintf(index, sizeof(index), "%05d", layer.step.index);
      text += std::string(index) + "  " + Pad(Cut(layer.step.name, kMaxName), w.name) + "  " + Pad(Cut(TypesOf(layer.step), kMaxName), w.type) + "  ";
      if (o.golden.compared) {
        text += Pad(Short(o.golden.naive.max_abs), 12) + "  " + Pad(Short(o.total.max_abs), 12) + "  " + Pad(Short(o.golden.device.max_abs), 13) +
                "  " + Painted(o.golden.conversion, style) + std::string(12 - std::string(VerdictName(o.golden.conversion)).size(), ' ') +
                Painted(o.verdict, style) + "\n";
      } else {
        text += "not tested: " + (o.golden.reason.empty() ? "the golden has no tensor '" + o.blob + "'" : o.golden.reason) + "\n";
      }
    }
  }
  return text + "\n";
}

std::string RangeLine(const char* label, const Tensor& tensor) {
  const Range range = RangeOf(tensor);
  char text[128];
  std::snprintf(text, sizeof(text), "  min %.6g  max %.6g  mean %.6g\n", range.min, range.max, range.mean);
  return "    " + Pad(label, 10) + text;
}

std::string OutputText(const RunReport& run, const OutputSummary& output) {
  std::string text = "output '" + output.name + "' " + DTypeName(output.device.dtype()) + " " + output.device.shape().ToString() + "\n";
  if (IsScoreVector(output.device.shape())) {
    const auto top = TopIndices(output.device, 5);
    text += TopLine(run.device.c_str(), output.device, top);
    if (output.reference.empty()) return text;
    const auto expected = TopIndices(output.reference, 5);
    text += TopLine("reference", output.reference, expected);
    text += top[0] == expected[0] ? "    top-1 is the same: #" + std::to_string(top[0]) + "\n"
                                  : "    TOP-1 CHANGED: #" + std::to_string(top[0]) + ", the reference says #" +
                                        std::to_string(expected[0]) + "\n";
    return text;
  }
  text += RangeLine(run.device.c_str(), output.device);
  if (!output.reference.empty()) text += RangeLine("reference", output.reference);
  return text;
}

std::string MatchLine(const InputMatch& match) {
  const std::string pair = "'" + match.input + "': " + match.a + " against " + match.b + ": ";
  if (match.equal) return pair + "equal";
  char text[160];
  const DiffMetrics& d = match.difference;
  std::snprintf(text, sizeof(text), "max %.6g at %s (%.9g, %.9g)", d.max_abs, d.worst < 0 ? "-" : Coordinates(d.worst, match.shape).c_str(),
                d.worst_a, d.worst_b);
  return pair + "DIFFERS: " + text + (match.explanation.empty() ? "; neither a channel swap, NCHW/NHWC nor a*x+b explains it"
                                                                : "; explained by: " + match.explanation);
}

std::string Head(const CheckSubject& subject, const RunReport& run) {
  std::string text = "model   " + subject.model + ", " + std::to_string(subject.num_layers) + " layers, weights " + subject.weights + "\n";
  for (const std::string& input : subject.inputs) text += "input   " + input + "\n";
  for (const InputMatch& match : subject.input_matches) text += "input   " + MatchLine(match) + "\n";
  if (run.reproduce.empty()) {
    text += "device  " + run.device + ": " + run.device_description + ", ISA " + subject.isa + ", " +
            std::to_string(subject.num_threads) + (subject.num_threads == 1 ? " thread" : " threads") + "\n";
  } else {
    text += Pad(run.device, 7) + " " + run.device_description + "\n";
  }
  for (const std::string& note : run.notes) text += "        " + note + "\n";
  return text + "rule    " + subject.rule + ": wrong when E > 4, R > 2 or R of a channel > 6; grey when E > 1\n";
}

std::string ConversionSummary(const RunReport& golden) {
  const std::string all = std::to_string(golden.layers.size()) + " steps: " + std::to_string(golden.Count(Verdict::kAligned)) + " aligned, " +
                          std::to_string(golden.Count(Verdict::kGrey)) + " grey, " + std::to_string(golden.Count(Verdict::kWrong)) + " wrong, " +
                          std::to_string(golden.Count(Verdict::kNotTested)) + " not tested";
  if (golden.first_wrong >= 0) {
    const LayerReport& guilty = golden.layers[static_cast<size_t>(golden.first_wrong)];
    return "conversion: WRONG: layer " + std::to_string(guilty.step.index) + " '" + guilty.step.name + "' (" + TypesOf(guilty.step) +
           ") is the first that the golden computed otherwise than the model here says: " + guilty.reason + "; " + all;
  }
  if (golden.verdict == Verdict::kNotTested) return "conversion: NOT TESTED: nothing could be compared with the golden; " + all;
  return "conversion: the golden computed every layer that was compared as the model here says; " + all;
}

}  // namespace

std::string FormatText(const CheckSubject& subject, const RunReport& run, const ReportStyle& style) {
  const Widths w = Measure(run);
  const std::string inputs = FormatInputs(subject);
  std::string text = (inputs.empty() ? "" : inputs + "\n") + Head(subject, run) + "\nindex  " + Pad("layer", w.name) + "  " + Pad("type", w.type) + "  " +
                     Pad("kernel", w.kernel) + "  " + Pad("shape", w.shape) +
                     "  introduced inherited  E         R         verdict\n";
  for (const LayerReport& layer : run.layers) {
    text += Row(layer, w, style);
    const bool notable = layer.verdict == Verdict::kWrong || layer.verdict == Verdict::kGrey;
    if (!style.full && !notable) continue;
    for (const OutputReport& output : layer.outputs) text += Details(output);
  }
  text += "\n";
  if (run.has_golden) text += GoldenTable(run, w, style);
  for (const OutputSummary& output : run.outputs) text += OutputText(run, output);
  return text + FormatSummary(subject, run) + "\n";
}

std::string FormatInputs(const CheckSubject& subject) {
  for (const InputMatch& match : subject.input_matches) {
    if (match.equal) continue;
    char text[64];
    std::snprintf(text, sizeof(text), "max %.6g", match.difference.max_abs);
    return "input differs: " + std::string(text) + " in '" + match.input + "', " + match.a + " against " + match.b +
           (match.explanation.empty() ? "" : ", explained by: " + match.explanation) + "; the layers are judged on the inputs that each side had";
  }
  return "";
}

std::string FormatSummary(const CheckSubject& subject, const RunReport& run) {
  if (run.is_golden) return ConversionSummary(run);
  const std::string who = run.judged_as.empty() ? run.device : run.device + " (" + run.judged_as + ")";
  std::string counts = std::to_string(run.Count(Verdict::kAligned)) + " aligned, " + std::to_string(run.Count(Verdict::kGrey)) +
                       " grey, " + std::to_string(run.Count(Verdict::kWrong)) + " wrong, " +
                       std::to_string(run.Count(Verdict::kNotTested)) + " not tested";
  const std::string all = std::to_string(run.layers.size()) + " steps (" + std::to_string(subject.num_layers) + " layers)";
  if (run.first_wrong >= 0) {
    const LayerReport& guilty = run.layers[static_cast<size_t>(run.first_wrong)];
    return who + ": WRONG: layer " + std::to_string(guilty.step.index) + " '" + guilty.step.name + "' (" +
           TypesOf(guilty.step) + ", " + guilty.step.kernel + ") is the first guilty one: " + guilty.reason + "; " + counts + " of " +
           all + ". Reproduce: " + subject.reproduce + " " + (run.reproduce.empty() ? "-d " + run.device : run.reproduce);
  }
  if (run.verdict == Verdict::kNotTested) return who + ": NOT TESTED: nothing could be compared; " + counts + " of " + all;
  return who + ": " + (run.Count(Verdict::kNotTested) == 0 && run.verdict == Verdict::kAligned ? "all aligned: " : "no layer is wrong: ") +
         counts + " of " + all + "; " + std::to_string(run.compared_values) + " values compared";
}

}  // namespace plumb
