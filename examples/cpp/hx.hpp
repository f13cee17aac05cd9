/* SPDX-License-Identifier: Apache-2.0
 * hx for C++17: contexts, arrays and asynchronous tasks that free themselves, and errors as exceptions. It is an
 * example to copy into a program, not a part of the installed interface: hx.h has all that it does, and more.
 *
 *     hx::context hx;
 *     std::vector<float> x(1'000'000, 1.0f);
 *     float sum = hx.sum(x);
 *     hx::array<float> a(hx, m * k), b(hx, k * n), c(hx, m * n);
 *     hx.run(hx_matmul(m, n, k, a.data(), b.data(), c.data()));
 */
#ifndef HX_HPP
#define HX_HPP

#include <hx.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace hx {

class error : public std::runtime_error {
 public:
  explicit error(hx_status status)
      : std::runtime_error(std::string(hx_status_string(status)) + ": " + hx_error_detail()), status_(status) {}
  hx_status status() const noexcept { return status_; }

 private:
  hx_status status_;
};

inline void check(hx_status status) {
  if (status != HX_OK) throw error(status);
}

/* The element type of hx for a C++ type, and the type of its sums: hx adds integers exactly, in 64 bits. */
template <typename T>
struct type_of;
template <>
struct type_of<float> {
  static constexpr hx_type value = HX_F32;
  using sum = float;
  static float get(const hx_value &v, bool) { return v.f32; }
};
template <>
struct type_of<std::int32_t> {
  static constexpr hx_type value = HX_I32;
  using sum = std::int64_t;
  static std::int64_t get(const hx_value &v, bool wide) { return wide ? v.i64 : v.i32; }
};
template <>
struct type_of<std::uint32_t> {
  static constexpr hx_type value = HX_U32;
  using sum = std::uint64_t;
  static std::uint64_t get(const hx_value &v, bool wide) { return wide ? v.u64 : v.u32; }
};

template <typename Container>
using element = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<const Container &>()))>>;

/* A task in the background. Its arrays have to live until wait() has returned, or until it is destroyed. */
class event {
 public:
  event(event &&other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  event &operator=(event &&other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~event() {
    if (event_) hx_wait(event_, nullptr); /* a destructor has no way to report a failure: call wait() */
  }
  bool done() const { return !event_ || hx_done(event_); }
  hx_report wait() {
    hx_report report{};
    check(hx_wait(std::exchange(event_, nullptr), &report));
    return report;
  }

 private:
  friend class context;
  explicit event(hx_event *e) : event_(e) {}
  hx_event *event_;
};

class context {
 public:
  explicit context(const hx_settings *settings = nullptr) {
    hx_context *opened = nullptr;
    check(hx_open(&opened, settings));
    context_.reset(opened);
  }
  hx_context *get() const noexcept { return context_.get(); }

  hx_report run(const hx_task &task) {
    hx_report report{};
    check(hx_offload(get(), &task, &report));
    return report;
  }
  /* The task may not point to a local hx_value that ends before the event. */
  [[nodiscard]] event start(const hx_task &task) {
    hx_event *started = nullptr;
    check(hx_offload_async(get(), &task, &started));
    return event(started);
  }
  void ready() { check(hx_ready(get())); }

  /* Reductions of anything with data() and size(): std::vector, std::array, hx::array, std::span. */
  template <typename C>
  auto sum(const C &x) {
    return reduce(HX_SUM, x, true);
  }
  template <typename C>
  auto sum_squares(const C &x) {
    return reduce(HX_SUM_SQUARES, x, true);
  }
  template <typename C>
  element<C> min(const C &x) {
    return static_cast<element<C>>(reduce(HX_MIN, x, false));
  }
  template <typename C>
  element<C> max(const C &x) {
    return static_cast<element<C>>(reduce(HX_MAX, x, false));
  }
  template <typename C>
  std::size_t argmin(const C &x) {
    return index(HX_ARGMIN, x);
  }
  template <typename C>
  std::size_t argmax(const C &x) {
    return index(HX_ARGMAX, x);
  }
  template <typename C>
  auto dot(const C &x, const C &y) {
    using traits = type_of<element<C>>;
    if (std::size(x) != std::size(y)) throw std::invalid_argument("hx::dot: x and y differ in length");
    hx_value out{};
    run_quickly(hx_dot(traits::value, std::data(x), std::data(y), std::size(x), &out));
    return typename traits::sum(traits::get(out, true));
  }

 private:
  struct closer {
    void operator()(hx_context *c) const { hx_close(c); }
  };

  void run_quickly(const hx_task &task) {
    check(hx_offload(get(), &task, nullptr));
  } /* small calls: without a report */

  template <typename C>
  hx_value value(hx_op op, const C &x) {
    hx_value out{};
    run_quickly(hx_reduce(op, type_of<element<C>>::value, std::data(x), std::size(x), &out));
    return out;
  }
  template <typename C>
  auto reduce(hx_op op, const C &x, bool wide) {
    using traits = type_of<element<C>>;
    return typename traits::sum(traits::get(value(op, x), wide));
  }
  template <typename C>
  std::size_t index(hx_op op, const C &x) {
    return static_cast<std::size_t>(value(op, x).u64);
  }

  std::unique_ptr<hx_context, closer> context_;
};

/* An array that devices can reach without a copy, if they allow it. It must be destroyed before its context. */
template <typename T>
class array {
 public:
  array(context &owner, std::size_t n) : owner_(owner.get()), size_(n) {
    if (n > SIZE_MAX / sizeof(T)) throw std::length_error("hx::array");
    data_ = static_cast<T *>(hx_alloc(owner_, n * sizeof(T)));
    if (!data_) throw error(HX_OUT_OF_MEMORY);
  }
  array(array &&other) noexcept
      : owner_(other.owner_), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  array(const array &) = delete;
  array &operator=(const array &) = delete;
  array &operator=(array &&) = delete;
  ~array() { hx_free(owner_, data_); }

  T *data() noexcept { return data_; }
  const T *data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  T &operator[](std::size_t i) { return data_[i]; }
  const T &operator[](std::size_t i) const { return data_[i]; }
  T *begin() noexcept { return data_; }
  T *end() noexcept { return data_ + size_; }
  const T *begin() const noexcept { return data_; }
  const T *end() const noexcept { return data_ + size_; }

 private:
  hx_context *owner_;
  T *data_ = nullptr;
  std::size_t size_;
};

}  // namespace hx

#endif
