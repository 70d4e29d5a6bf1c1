// SPDX-License-Identifier: Apache-2.0
// The report that a person reads: a table with one row per step, the numbers of what is not aligned, outputs, one
// sentence.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "check/report/shown.h"
#include "check/report/util.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr size_t kMaxName = 40;  // of a name in a table

std::string Pad(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
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

TextCell Painted(Verdict verdict, const ReportStyle& style) {
  return {VerdictName(verdict), style.color ? ColorOf(verdict) : ""};
}

std::string IndexText(const LayerReport& layer) {
  if (layer.step.index < 0) return "const";  // computed from constants, before the network runs
  char index[16];
  std::snprintf(index, sizeof(index), "%05d", layer.step.index);
  return index;
}

std::string Indented(const std::string& text, size_t indent, const ReportStyle& style) {
  return fmt::format("{}{}\n", std::string(indent, ' '), Wrapped(text, style.width, indent, indent));
}

// Behind a label of the head.
std::string HeadLine(const std::string& label, const std::string& text, const ReportStyle& style) {
  constexpr size_t kIndent = 8;
  return fmt::format("{}{}\n", Pad(label, kIndent), Wrapped(PrintableLine(text), style.width, kIndent, kIndent));
}

std::string DiffLine(const char* label, const DiffMetrics& m, const Shape& shape, const ReportStyle& style) {
  char text[256];
  std::snprintf(text, sizeof(text), "%-10s max abs %.3e  max rel %.3e  cosine %.9f  SNR %.1f dB  max ULP %.3g", label,
                m.max_abs, m.max_rel, m.cosine, m.snr_db, m.max_ulp);
  std::string line = text;
  if (m.worst >= 0) {
    std::snprintf(text, sizeof(text), "  worst at %s: %.9g, expected %.9g", Coordinates(m.worst, shape).c_str(),
                  m.worst_a, m.worst_b);
    line += text;
  }
  if (m.nan_a + m.inf_a + m.nan_b + m.inf_b > 0) {
    line += fmt::format("  NaN/Inf {}/{}, expected {}/{}", m.nan_a, m.inf_a, m.nan_b, m.inf_b);
  }
  return Indented(line, 7, style);
}

std::string Details(const OutputReport& o, const ReportStyle& style) {
  char text[160];
  std::snprintf(text, sizeof(text),
                "E %.3g  R %.3g  R of a channel %.3g  smallest visible fault %.2g (relative)  bound level %d", o.excess,
                o.rms_excess, o.channel_excess, o.smallest_fault, o.level);
  const std::string sides =
      o.bias == 0 && o.bias_z == 0 ? "" : fmt::format("bias {:+.3f} units of the storage, z {:.1f}", o.bias, o.bias_z);
  return Indented(
             fmt::format("blob '{}' {} {} {}", Printable(o.blob), DTypeName(o.dtype), o.shape.ToString(), o.layout), 7,
             style) +
         Indented(text, 7, style) + (sides.empty() ? "" : Indented(sides, 7, style)) +
         DiffLine("introduced", o.introduced, o.shape, style) +
         (o.inherited.count > 0 ? DiffLine("inherited", o.inherited, o.shape, style) : "");
}

// The row of a step; its reason and, where they matter, its numbers stand below it.
void AddRow(const LayerReport& layer, const ReportStyle& style, TextTable* table) {
  std::string below = layer.reason.empty() ? "" : Indented(PrintableLine(layer.reason), 7, style);
  const bool known = layer.verdict == Verdict::kGrey && !layer.cause.empty();
  if (style.full || (layer.verdict >= Verdict::kGrey && !known)) {
    for (const std::string& line : SourceLinesOf(layer.step))
      below += Indented("written at " + PrintableLine(line), 7, style);
    for (const OutputReport& output : layer.outputs) below += Details(output, style);
  }
  const OutputReport* o = layer.Worst();
  const auto number = [o](const std::string& text) { return TextCell{o == nullptr ? "-" : text}; };
  const OutputReport none;
  const OutputReport& w = o == nullptr ? none : *o;
  table->Add({{IndexText(layer)},
              {CutFront(layer.step.name, kMaxName)},
              {CutFront(TypesOf(layer.step), kMaxName)},
              {layer.step.kernel},
              number(w.shape.ToString()),
              number(Short(w.introduced.max_abs)),
              number(w.inherited.count > 0 ? Short(w.inherited.max_abs) : "-"),
              number(Ratio(w.excess)),
              number(Ratio(w.rms_excess)),
              Painted(layer.verdict, style)},
             below);
}

std::string StepTable(const RunReport& run, const Shown& shown, const ReportStyle& style) {
  TextTable table({{"index"},
                   {"layer", 0, false, true},
                   {"type", 2},
                   {"kernel", 1},
                   {"shape", 3},
                   {"introduced"},
                   {"inherited"},
                   {"E"},
                   {"R"},
                   {"verdict"}});
  for (const LayerReport* layer : shown.layers) AddRow(*layer, style, &table);
  return table.Format(style.width) + FormatLeftOut(shown, style);
}

std::string TopLine(const char* label, const Tensor& tensor, const std::vector<int64_t>& top) {
  std::string line = "    " + Pad(label, 10);
  char text[64];
  for (int64_t i : top) {
    std::snprintf(text, sizeof(text), "  #%lld %.6g", static_cast<long long>(i), tensor.ValueAt(i));
    line += text;
  }
  return line;
}

// Three columns: a wrong conversion parts NAIVE from the golden, a wrong kernel parts the device from NAIVE.
std::string GoldenTable(const Shown& shown, const ReportStyle& style) {
  TextTable table({{"index"},
                   {"layer", 0, false, true},
                   {"type", 1},
                   {"NAIVE-golden"},
                   {"device-NAIVE"},
                   {"device-golden"},
                   {"conversion"},
                   {"kernel"}});
  for (const LayerReport* layer : shown.layers) {
    for (const OutputReport& o : layer->outputs) {
      const auto number = [&](const DiffMetrics& m) { return TextCell{o.golden.compared ? Short(m.max_abs) : "-"}; };
      std::string below;
      if (!o.golden.compared)
        below = o.golden.reason.empty() ? fmt::format("the golden has no tensor '{}'", Printable(o.blob))
                                        : Printable(o.golden.reason);
      table.Add({{IndexText(*layer)},
                 {CutFront(layer->step.name, kMaxName)},
                 {CutFront(TypesOf(layer->step), kMaxName)},
                 number(o.golden.naive),
                 number(o.total),
                 number(o.golden.device),
                 Painted(o.golden.conversion, style),
                 Painted(o.verdict, style)},
                below.empty() ? "" : Indented(below, 7, style));
    }
  }
  return "\nagainst the golden (max abs)\n" + table.Format(style.width);
}

std::string RangeLine(const char* label, const Tensor& tensor) {
  const Range range = RangeOf(tensor);
  char text[128];
  std::snprintf(text, sizeof(text), "  min %.6g  max %.6g  mean %.6g", range.min, range.max, range.mean);
  return fmt::format("    {}{}", Pad(label, 10), text);
}

std::string ValuesLine(const char* label, const Tensor& tensor) {
  std::string line = "    " + Pad(label, 10);
  char text[64];
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    std::snprintf(text, sizeof(text), "  %.9g", tensor.ValueAt(i));
    line += text;
  }
  return line;
}

std::string OutputText(const RunReport& run, const OutputSummary& output, const ReportStyle& style) {
  constexpr int64_t kFewValues = 8;
  std::string text =
      fmt::format("output '{}' {} {}\n", Printable(output.name),
                  DTypeName(output.model_dtype.value_or(output.device.dtype())), output.device.shape().ToString());
  const bool scores = IsScoreVector(output.device.shape());
  const bool few = output.device.NumElements() <= kFewValues;
  const auto top = scores ? TopIndices(output.device, 5) : std::vector<int64_t>();
  const auto expected = scores && !output.reference.empty() ? TopIndices(output.reference, 5) : std::vector<int64_t>();
  const auto line = [&](const std::string& label, const Tensor& tensor, const std::vector<int64_t>& best) {
    const std::string values = few      ? ValuesLine(label.c_str(), tensor)
                               : scores ? TopLine(label.c_str(), tensor, best)
                                        : RangeLine(label.c_str(), tensor);
    return Wrapped(values, style.width, 16) + "\n";
  };
  text += line(run.device, output.device, top);
  if (output.reference.empty()) return text;
  text += line("reference", output.reference, expected);
  if (scores) {
    text += top[0] == expected[0]
                ? fmt::format("    top-1 is the same: #{}\n", top[0])
                : fmt::format("    TOP-1 CHANGED: #{}, the reference says #{}\n", top[0], expected[0]);
  }
  for (const std::string& sentence : EffectSentences(run, output))
    text += Wrapped("    " + PrintableLine(sentence), style.width, 6) + "\n";
  return text;
}

std::string MatchLine(const InputMatch& match) {
  const std::string pair = fmt::format("'{}': {} against {}: ", match.input, match.a, match.b);
  if (match.equal) return pair + "equal";
  char text[160];
  const DiffMetrics& d = match.difference;
  std::snprintf(text, sizeof(text), "max %.6g at %s (%.9g, %.9g)", d.max_abs,
                d.worst < 0 ? "-" : Coordinates(d.worst, match.shape).c_str(), d.worst_a, d.worst_b);
  return fmt::format("{}DIFFERS: {}{}", pair, text,
                     match.explanation.empty() ? "; neither a channel swap, NCHW/NHWC nor a*x+b explains it"
                                               : "; explained by: " + match.explanation);
}

std::string Head(const CheckedModel& checked, const RunReport& run, const ReportStyle& style) {
  std::string text = HeadLine(
      "model", fmt::format("{}, {} layers, weights {}", checked.model, checked.num_layers, checked.weights), style);
  for (const std::string& input : checked.inputs) text += HeadLine("input", input, style);
  const std::string shapes = ChosenShapes(checked);
  if (!shapes.empty()) text += HeadLine("input", "shapes chosen, for the model leaves them open: " + shapes, style);
  for (const InputMatch& match : checked.input_matches) text += HeadLine("input", MatchLine(match), style);
  if (!checked.notes.empty())
    text += HeadLine("notes", std::to_string(checked.notes.size()) + " of loading (-v shows them)", style);
  if (run.reproduce.empty()) {
    const std::string precision =
        run.precision == "HIGH" || run.precision.empty() ? "" : ", precision " + run.precision;
    text += HeadLine("device",
                     fmt::format("{}: {}, ISA {}, {}{}{}{}", run.device, run.device_description, checked.isa,
                                 checked.num_threads, checked.num_threads == 1 ? " thread" : " threads", precision,
                                 run.direct ? ", direct algorithms" : ""),
                     style);
  } else {
    text += HeadLine(run.device, run.device_description, style);
  }
  for (const std::string& note : run.notes) text += HeadLine("", note, style);
  if (!style.legend) return text;
  text += HeadLine("rule", checked.rule + ": wrong when E > 4, R > 2 or R of a channel > 6; grey when E > 1", style);
  return text +
         HeadLine("legend",
                  "introduced: what this step alone is off by (max abs), inherited: what the steps before it brought; "
                  "E: the largest introduced error in units of the rounding to be expected there, R: its rms",
                  style);
}

}  // namespace

std::string FormatText(const CheckedModel& checked, const RunReport& run, const ReportStyle& style) {
  const std::string inputs = FormatInputs(checked);
  const Shown shown = ChooseShown(run, style);
  std::string text = inputs.empty() ? "" : Wrapped(PrintableLine(inputs), style.width, 4) + "\n";
  text += fmt::format("{}\n{}", Head(checked, run, style), StepTable(run, shown, style));
  if (run.has_golden) text += GoldenTable(shown, style);
  text += "\n";
  for (const OutputSummary& output : run.outputs) text += OutputText(run, output, style);
  for (const ChoiceReport& choice : run.choices) {
    const std::string sentence = ChoiceSentence(run, choice);
    if (!sentence.empty()) text += Wrapped("choices " + PrintableLine(sentence), style.width, 8) + "\n";
  }
  for (const std::string& sentence : RestsOn(checked, run))
    text += Wrapped(PrintableLine(sentence), style.width, 4) + "\n";
  // The command stays on one line, to be copied.
  const std::string reproduce = ReproduceCommand(checked, run);
  text += Wrapped(PrintableLine(VerdictSentence(checked, run)), style.width, 4) + "\n";
  if (reproduce.empty()) return text;
  const std::string guilty = Printable(run.layers[static_cast<size_t>(run.first_wrong)].step.name);
  return fmt::format("{}    Reproduce: {}\n    (with CheckOptions::layers '{}' this step alone)\n", text, reproduce,
                     guilty);
}

}  // namespace plumb
