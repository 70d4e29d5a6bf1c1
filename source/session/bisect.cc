// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/bisect.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "plumb/tool/printing.h"

namespace plumb {
namespace {

using Chosen = std::set<size_t>;  // positions of alternatives

// Where without any is right, a state is what is switched on; where it is wrong, what is switched off. So a state is
// wrong when something in it brings the fault, and the empty one is right.
class Bisection {
 public:
  explicit Bisection(const BisectOptions& options) : options_(options) {
    report_.alternatives = options.alternatives;
    report_.influences.assign(options.alternatives.size(), Influence::kUnknown);
    for (size_t i = 0; i < options.alternatives.size(); ++i) all_.insert(all_.end(), i);
  }

  Result<BisectReport> Go() {
    PLUMB_ASSIGN_OR_RETURN(const bool without, RunOn({}));
    PLUMB_ASSIGN_OR_RETURN(const bool with, RunOn(all_));
    inverted_ = without;
    if (without != with) PLUMB_RETURN_IF_ERROR(FindAll());
    for (size_t i = 0; options_.each && i < options_.alternatives.size(); ++i) {
      PLUMB_RETURN_IF_ERROR(RunOn({i}).status());
    }
    NoteEffects();
    return std::move(report_);
  }

 private:
  Result<bool> RunOn(const Chosen& on) {
    const auto known = wrong_.find(on);
    if (known != wrong_.end()) return known->second;
    std::vector<std::string> names;
    for (const size_t i : on) names.push_back(options_.alternatives[i]);
    PLUMB_ASSIGN_OR_RETURN(BisectRun run, options_.run(names));
    run.on = std::move(names);
    if (options_.done) options_.done(run);
    wrong_[on] = run.wrong;
    bits_[on] = run.bits;
    report_.runs.push_back(std::move(run));
    return wrong_[on];
  }

  Result<bool> IsWrong(const Chosen& state) {
    if (!inverted_) return RunOn(state);
    Chosen on;
    std::set_difference(all_.begin(), all_.end(), state.begin(), state.end(), std::inserter(on, on.end()));
    return RunOn(on);
  }

  static Chosen Joined(Chosen a, const Chosen& b) {
    a.insert(b.begin(), b.end());
    return a;
  }

  // Of `rest`, which is wrong with `fixed` on, the first that makes it so behind those before it.
  Result<size_t> FindOne(const std::vector<size_t>& rest, const Chosen& fixed) {
    size_t right = 0, wrong = rest.size();  // lengths of beginnings
    while (wrong - right > 1) {
      const size_t middle = (right + wrong) / 2;
      const Chosen state(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(middle));
      PLUMB_ASSIGN_OR_RETURN(const bool is_wrong, IsWrong(Joined(state, fixed)));
      (is_wrong ? wrong : right) = middle;
    }
    return wrong - 1;
  }

  Status FindAll() {
    Chosen rest = all_;
    for (bool more = true; more;) {
      Chosen group;
      std::vector<size_t> candidates(rest.begin(), rest.end());
      for (bool complete = false; !complete && !candidates.empty();) {
        PLUMB_ASSIGN_OR_RETURN(const size_t place, FindOne(candidates, group));
        group.insert(candidates[place]);
        candidates.resize(place);  // the others of the group stand before it
        complete = true;
        if (!candidates.empty()) {
          PLUMB_ASSIGN_OR_RETURN(complete, IsWrong(group));
        }
      }
      std::vector<std::string> names;
      for (const size_t i : group) {
        names.push_back(options_.alternatives[i]);
        report_.influences[i] = inverted_ ? Influence::kHeals : Influence::kBrings;
        rest.erase(i);
      }
      report_.together.push_back(std::move(names));
      more = false;
      if (!rest.empty()) {
        PLUMB_ASSIGN_OR_RETURN(more, IsWrong(rest));
      }
    }
    return Status::Ok();
  }

  // Two runs of the same bits, of which one has more switched on: what it has more has no effect. An alternative alone
  // that changes bits has one.
  void NoteEffects() {
    for (const auto& [less, bits] : bits_) {
      for (const auto& [more, others] : bits_) {
        if (bits.empty() || others.empty() || less.size() >= more.size()) continue;
        if (!std::includes(more.begin(), more.end(), less.begin(), less.end())) continue;
        for (const size_t i : more) {
          Influence& influence = report_.influences[i];
          if (less.count(i) > 0 || influence == Influence::kBrings || influence == Influence::kHeals) continue;
          if (bits == others) influence = Influence::kNoEffect;
          if (bits != others && more.size() == less.size() + 1) influence = Influence::kDoesNot;
        }
      }
    }
  }

  const BisectOptions& options_;
  BisectReport report_;
  Chosen all_;
  bool inverted_ = false;
  std::map<Chosen, bool> wrong_;
  std::map<Chosen, std::string> bits_;
};

std::string JoinedNames(const std::vector<std::string>& names, const char* between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + fmt::format("'{}'", name);
  return text;
}

std::string Finding(const BisectReport& report) {
  const BisectRun &without = report.runs[0], &with = report.runs[1];
  if (!report.found()) {
    const bool same = !without.bits.empty() && without.bits == with.bits;
    return fmt::format("none brings or heals it: {} without any of them and {} with all{}", without.verdict,
                       with.verdict, same ? ", and not a bit changes: all together have no effect at all" : "");
  }
  std::string text;
  for (const std::vector<std::string>& group : report.together) {
    text += fmt::format("{}{}{} {}", text.empty() ? "" : "; ", JoinedNames(group, " and "),
                        group.size() > 1 ? ", together," : "", without.wrong ? "heals it" : "brings it");
  }
  return fmt::format("{}: {} without, {} with all", text, without.verdict, with.verdict);
}

}  // namespace

const char* InfluenceName(Influence influence) {
  switch (influence) {
    case Influence::kUnknown: return "does not; its effect is unknown";
    case Influence::kBrings: return "brings it";
    case Influence::kHeals: return "heals it";
    case Influence::kDoesNot: return "does not";
    case Influence::kNoEffect: return "has no effect at all";
  }
  return "";
}

Result<BisectReport> Bisect(const BisectOptions& options) {
  if (options.alternatives.empty()) return Status::InvalidArgument("nothing is named that may bring the fault");
  std::set<std::string> names;
  for (const std::string& one : options.alternatives) {
    if (!names.insert(one).second) return Status::InvalidArgument(fmt::format("'{}' is named twice", one));
  }
  return Bisection(options).Go();
}

std::string FormatBisectText(const BisectReport& report, size_t width) {
  TextTable table({{"alternative", 0, false, true}, {"influence"}});
  for (size_t i = 0; i < report.alternatives.size(); ++i)
    table.Add({{report.alternatives[i]}, {InfluenceName(report.influences[i])}});
  std::string text = table.Format(width) + "\n";
  text += Wrapped(PrintableLine(fmt::format("{}; {} runs", Finding(report), report.runs.size())), width, 4) + "\n";
  if (!report.again.empty()) text += "Again: " + PrintableLine(report.again) + "\n";
  return text;
}

std::string FormatBisectLines(const BisectReport& report) {
  using BisectJson = nlohmann::ordered_json;
  std::string text;
  const auto add = [&](const BisectJson& json) {
    text += json.dump(-1, ' ', false, BisectJson::error_handler_t::replace) + "\n";
  };
  for (const BisectRun& run : report.runs) {
    add({{"on", run.on}, {"wrong", run.wrong}, {"verdict", run.verdict}, {"bits", run.bits}, {"seconds", run.seconds}});
  }
  for (size_t i = 0; i < report.alternatives.size(); ++i)
    add({{"alternative", report.alternatives[i]}, {"influence", InfluenceName(report.influences[i])}});
  add({{"together", report.together}, {"runs", report.runs.size()}, {"again", report.again}});
  return text;
}

}  // namespace plumb
