// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/many_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "base/process.h"
#include "base/text.h"
#include "base/threads.h"
#include "plumb/tool/file.h"
#include "plumb/tool/interrupt.h"
#include "samples/sample_results.h"
#include "session/python.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

// Why it ended: "error: ..." of our tools, or the last line of another one.
std::string WhatItSaid(const ProcessResult& ended) {
  if (!ended.error.empty()) return ended.error;
  const std::string said = LastLineOf(ended.err.empty() ? ended.out : ended.err), error = "error: ";
  return said.rfind(error, 0) == 0 ? said.substr(error.size()) : said;
}

class Parts {
 public:
  explicit Parts(const PartsOptions& options) : options_(options) {}

  Status Run() {
    PLUMB_RETURN_IF_ERROR(Join());  // what a call left that was killed
    auto known = ReadWholeFile(options_.results);
    known_ = known.ok() ? WithoutDied(*known) : "";
    std::vector<std::thread> threads;
    const int count = options_.ray ? 1 : static_cast<int>(std::min<int64_t>(options_.workers, options_.parts));
    running_ = count;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([this] {
        options_.ray ? RunRay() : RunSome();
        --running_;
      });
    }
    Status status = Status::Ok();
    while (running_ > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kTick));
      if (status.ok()) status = Interrupter::Check();
      if (!status.ok()) stop_ = true;
      if (options_.progress) options_.progress(CountDone());
    }
    for (std::thread& thread : threads) thread.join();
    const Status joined = Join();
    if (!status.ok()) return status;
    return failed_.ok() ? joined : failed_;
  }

 private:
  static constexpr int kTick = 200, kMostDeaths = 2;

  std::string FileOf(int64_t part) const { return fmt::format("{}.part-{}", options_.results, part); }

  void Fail(const std::string& why) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failed_.ok()) failed_ = Status::InvalidArgument(why);
    stop_ = true;
  }

  // The parts that no other thread has taken, one after the other.
  void RunSome() {
    for (int64_t part = ++next_; part <= options_.parts && !stop_; part = ++next_) RunOne(part);
  }

  void RunOne(int64_t part) {
    const Status written = known_.empty() ? Status::Ok() : WriteFile(FileOf(part), known_);
    if (!written.ok()) return Fail(written.message());
    std::vector<std::string> command = options_.command;
    command.insert(command.end(), {"--part", fmt::format("{}/{}", part, options_.parts), "--results", FileOf(part)});
    ProcessOptions process;
    process.wait = [this](double, double) { return !stop_; };
    size_t done = SizeOf(FileOf(part));
    for (int deaths = 0; !stop_;) {
      const ProcessResult ended = RunProcess(command, process);
      if (ended.exit_code == 0 || ended.given_up) return;
      if (ended.signal == 0 || ended.signal == SIGINT || ended.signal == SIGTERM) return Fail(WhatItSaid(ended));
      // It died: of a sample, which its file says; or before the first one.
      const size_t now = SizeOf(FileOf(part));
      deaths = now > done ? 0 : deaths + 1;
      done = now;
      if (deaths == kMostDeaths) {
        return Fail(fmt::format("the process for part {} of {} died ({}) before its first sample, {} times: {}", part,
                                options_.parts, ::strsignal(ended.signal), deaths, WhatItSaid(ended)));
      }
    }
  }

  // plumbnn shares the parts out.
  void RunRay() {
    const nlohmann::json job = {{"command", options_.command},
                                {"results", options_.results},
                                {"known", known_},
                                {"parts", options_.parts},
                                {"workers", options_.workers}};
    const auto work = WorkFolder::Make("plumb-ray");
    if (!work.ok()) return Fail(work.status().message());
    const std::string file = work->path() + "/job.json";
    const Status written = WriteFile(file, job.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    if (!written.ok()) return Fail(written.message());
    ProcessOptions process;
    process.merge = true;
    process.wait = [this](double, double) { return !stop_; };
    const ProcessResult ended = RunProcess({PythonOf(""), "-m", "plumbnn._parts", file}, process);
    if (ended.exit_code != 0 && !ended.given_up) Fail("on Ray: " + WhatItSaid(ended));
  }

  static size_t SizeOf(const std::string& path) {
    std::error_code error;
    const auto size = fs::file_size(path, error);
    return error ? 0 : static_cast<size_t>(size);
  }

  int64_t CountDone() const {
    int64_t lines = 0;
    const std::string word = "\"sample\":";
    for (int64_t part = 1; part <= options_.parts; ++part) {
      const auto text = ReadWholeFile(FileOf(part));
      if (!text.ok()) continue;
      for (size_t at = std::min(text->size(), known_.size()); (at = text->find(word, at)) != std::string::npos; ++at)
        ++lines;
    }
    return lines;
  }

  // Every part's lines into the file of results.
  Status Join() const {
    std::vector<std::string> texts, files;
    const auto results = ReadWholeFile(options_.results);
    if (results.ok()) texts.push_back(*results);
    const fs::path path = options_.results;
    const std::string begin = path.filename().string() + ".part-";
    std::error_code error;
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (name.rfind(begin, 0) == 0 && name.find_first_not_of("0123456789", begin.size()) == std::string::npos)
        files.push_back(at->path().string());
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
      PLUMB_ASSIGN_OR_RETURN(std::string text, ReadWholeFile(file));
      texts.push_back(std::move(text));
    }
    if (files.empty()) return Status::Ok();
    const std::string joined = JoinResults(texts, options_.samples);
    if (!joined.empty()) PLUMB_RETURN_IF_ERROR(WriteFile(options_.results, joined));
    for (const std::string& file : files) fs::remove(file, error);
    return Status::Ok();
  }

  const PartsOptions& options_;
  std::string known_;  // what stood in the results
  std::atomic<int64_t> next_{0};
  std::atomic<int> running_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  Status failed_ = Status::Ok();
};

}  // namespace

int WorthwhileWorkers(size_t samples) {
  constexpr size_t kWorthAProcess = 8;
  const int some = static_cast<int>(std::min(samples / kWorthAProcess, static_cast<size_t>(NumCpus())));
  return some > 1 ? some : 0;
}

Status RunParts(const PartsOptions& options) { return Parts(options).Run(); }

}  // namespace plumb
