// SPDX-License-Identifier: Apache-2.0
// The report as a table for spreadsheets and pandas: one row per layer output and device (RFC 4180 quoting).
#include <fmt/core.h>

#include <cstdio>

#include "base/text.h"
#include "check/report/util.h"

namespace plumb {
namespace {

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string Diff(const DiffMetrics& m, const Shape& shape) {
  return fmt::format("{},{},{},{},{}", Number(m.max_abs, 9), Number(m.max_rel, 9), Number(m.cosine, 9),
                     Number(m.snr_db, 9), Quoted(m.worst < 0 ? "" : Coordinates(m.worst, shape)));
}

std::string Golden(const GoldenReport& golden) {
  return golden.compared ? fmt::format("{},{},{}", VerdictName(golden.conversion), Number(golden.naive.max_abs, 9),
                                       Number(golden.device.max_abs, 9))
                         : ",,";
}

}  // namespace

std::string FormatCsv(const std::vector<RunReport>& runs) {
  std::string csv =
      "device,index,name,type,kernel,blob,dtype,shape,verdict,reason,E,R,R_channel,introduced_max_abs,introduced_max_"
      "rel,"
      "introduced_cosine,introduced_snr_db,introduced_worst,inherited_max_abs,inherited_max_rel,inherited_cosine,"
      "inherited_snr_db,inherited_worst,nan,inf,expected_nan,expected_inf,seconds,conversion,naive_golden_max_abs,"
      "device_golden_max_abs,smallest_fault\n";
  for (const RunReport& run : runs) {
    for (const LayerReport& layer : run.layers) {
      const std::string head = fmt::format("{},{},{},{},{},", run.device, layer.step.index, Quoted(layer.step.name),
                                           TypesOf(layer.step), layer.step.kernel);
      if (layer.outputs.empty()) {
        csv +=
            fmt::format("{},,,{},{}{}\n", head, VerdictName(layer.verdict), Quoted(layer.reason), std::string(22, ','));
      }
      for (const OutputReport& o : layer.outputs) {
        csv += fmt::format("{}{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", head, Quoted(o.blob),
                           DTypeName(o.dtype), Quoted(o.shape.ToString()), VerdictName(o.verdict), Quoted(o.reason),
                           Number(o.excess, 9), Number(o.rms_excess, 9), Number(o.channel_excess, 9),
                           Diff(o.introduced, o.shape), Diff(o.inherited, o.shape), o.introduced.nan_a,
                           o.introduced.inf_a, o.introduced.nan_b, o.introduced.inf_b, Number(layer.device_seconds, 9),
                           Golden(o.golden), Number(o.smallest_fault, 9));
      }
    }
  }
  return csv;
}

}  // namespace plumb
