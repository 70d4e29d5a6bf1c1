// SPDX-License-Identifier: Apache-2.0
// BlobWriter: threads that measure, format and write blobs while the network computes, with bounded memory.
//
// The threads are its own and not the pool's: a loop of the pool that a writer holds would make the network's loops
// serial. Where the system grants none (limits of a container), Add writes itself. Threading: Add and Finish from one
// thread.
#ifndef PLUMB_DUMP_WRITER_H_
#define PLUMB_DUMP_WRITER_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "dump/blob_file.h"

namespace plumb {

class BlobWriter {
 public:
  BlobWriter(DumpOptions::Format format, bool zstd, size_t max_queued_bytes, int num_threads);
  ~BlobWriter();  // drops what waits
  BlobWriter(const BlobWriter&) = delete;
  BlobWriter& operator=(const BlobWriter&) = delete;

  // Waits while the blobs in the queue and in work have more than max_queued_bytes; then the tensor is written to
  // `path` ("" measures only), and number `id` is known as done with `result` filled. `result` must live until Finish.
  // After an error nothing more is written until Finish.
  void Add(Tensor tensor, std::string path, size_t id, BlobFileResult* result);
  // Waits for everything. Returns the first error, and the ids that are complete in *done; starts afresh.
  Status Finish(std::vector<size_t>* done);

 private:
  struct Job {
    Tensor tensor;
    std::string path;
    size_t id;
    BlobFileResult* result;
  };
  void Work();
  void WriteFront(std::unique_lock<std::mutex>* lock);

  const DumpOptions::Format format_;
  const bool zstd_;
  const size_t max_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> queue_;
  std::vector<size_t> done_;
  size_t bytes_ = 0;  // queued and in work
  size_t in_work_ = 0;
  Status error_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace plumb

#endif  // PLUMB_DUMP_WRITER_H_
