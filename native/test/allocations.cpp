// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Stands in for malloc and its relatives in the whole process, shared libraries included.
#include "allocations.hpp"

#include <cerrno>
#include <cstddef>
#include <new>

// What glibc keeps them under for those who stand in for them.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

thread_local long count = 0;

void* aligned(std::size_t alignment, std::size_t size) noexcept {
  ++count;
  return __libc_memalign(alignment, size);
}

}  // namespace

long allocations() noexcept { return count; }

extern "C" {

void* malloc(std::size_t size) noexcept {
  ++count;
  return __libc_malloc(size);
}

void* calloc(std::size_t element_count, std::size_t size) noexcept {
  ++count;
  return __libc_calloc(element_count, size);
}

void* realloc(void* old, std::size_t size) noexcept {
  ++count;
  return __libc_realloc(old, size);
}

void free(void* memory) noexcept {
  if (memory != nullptr) ++count;
  __libc_free(memory);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return aligned(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return aligned(alignment, size);
}

int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  *result = aligned(alignment, size);
  return *result == nullptr ? ENOMEM : 0;
}
}

void* operator new(std::size_t size) {
  if (void* memory = malloc(size)) return memory;
  throw std::bad_alloc();
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* memory = aligned(static_cast<std::size_t>(alignment), size)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, std::size_t) noexcept { free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { free(memory); }
