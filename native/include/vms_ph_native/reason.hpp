// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A sentence about the outcome of an update, written without allocating memory.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace vms_ph {

class Reason {
 public:
  /// @param capacity  longest sentence; a longer one is truncated.
  explicit Reason(std::size_t capacity = 256) : text_(capacity + 1, '\0') {}

  const char* text() const noexcept { return text_.data(); }
  bool empty() const noexcept { return text_[0] == '\0'; }
  void clear() noexcept { text_[0] = '\0', size_ = 0; }

  /// Replace the sentence, formatted as by printf.
  [[gnu::format(printf, 2, 3)]] void set(const char* format, ...) noexcept {
    clear();
    std::va_list arguments;
    va_start(arguments, format);
    write(format, arguments);
    va_end(arguments);
  }

  /// Append to the sentence.
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) noexcept {
    std::va_list arguments;
    va_start(arguments, format);
    write(format, arguments);
    va_end(arguments);
  }

 private:
  void write(const char* format, std::va_list arguments) noexcept {
    const std::size_t room = text_.size() - size_;
    const int length = std::vsnprintf(text_.data() + size_, room, format, arguments);
    if (length <= 0) return;
    const auto written = static_cast<std::size_t>(length);
    size_ += written < room ? written : room - 1;
  }

  std::vector<char> text_;
  std::size_t size_ = 0;
};

}  // namespace vms_ph
