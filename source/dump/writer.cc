// SPDX-License-Identifier: Apache-2.0
#include "dump/writer.h"

#include <fmt/core.h>

#include <exception>
#include <new>
#include <utility>

namespace plumb {
namespace {

Status WriteOrOutOfMemory(const Tensor& tensor, const std::string& path, DumpOptions::Format format, bool zstd,
                          BlobFileResult* result) {
  try {  // on a thread of our own nobody else would catch it
    return WriteBlobFile(tensor, path, format, zstd, result);
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory(fmt::format("no memory to write '{}'", path));
  }
}

}  // namespace

BlobWriter::BlobWriter(DumpOptions::Format format, bool zstd, size_t max_queued_bytes, int num_threads)
    : format_(format), zstd_(zstd), max_bytes_(max_queued_bytes) {
  try {
    threads_.reserve(static_cast<size_t>(num_threads));
    for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { Work(); });
  } catch (const std::exception&) {  // std::system_error, std::bad_alloc: with those that there are, or none
  }
}

BlobWriter::~BlobWriter() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BlobWriter::Add(Tensor tensor, std::string path, size_t id, BlobFileResult* result) {
  const size_t bytes = tensor.bytes();
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return bytes_ == 0 || bytes_ + bytes <= max_bytes_ || !error_.ok(); });
  if (!error_.ok()) return;
  bytes_ += bytes;
  queue_.push_back({std::move(tensor), std::move(path), id, result});
  if (threads_.empty()) return WriteFront(&lock);
  lock.unlock();
  changed_.notify_all();
}

Status BlobWriter::Finish(std::vector<size_t>* done) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && in_work_ == 0; });
  *done = std::exchange(done_, {});
  bytes_ = 0;
  return std::exchange(error_, Status::Ok());
}

void BlobWriter::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    WriteFront(&lock);
    changed_.notify_all();
  }
}

void BlobWriter::WriteFront(std::unique_lock<std::mutex>* lock) {
  Job job = std::move(queue_.front());
  queue_.pop_front();
  ++in_work_;
  lock->unlock();
  Status status = WriteOrOutOfMemory(job.tensor, job.path, format_, zstd_, job.result);
  const size_t bytes = job.tensor.bytes();
  job.tensor = Tensor();  // its memory is free before it is counted as free
  lock->lock();
  --in_work_;
  bytes_ -= bytes;
  if (status.ok()) {
    done_.push_back(job.id);
  } else if (error_.ok()) {
    error_ = std::move(status);
    for (const Job& dropped : queue_) bytes_ -= dropped.tensor.bytes();
    queue_.clear();
  }
}

}  // namespace plumb
