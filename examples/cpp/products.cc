/* SPDX-License-Identifier: Apache-2.0
 * Sums and a product by the wrapper hx.hpp. */
#include "hx.hpp"

#include <array>
#include <iostream>
#include <numeric>
#include <vector>

int main() try {
  hx::context hx;
  std::vector<std::int32_t> x(100000);
  std::iota(x.begin(), x.end(), -1000);
  std::cout << "sum " << hx.sum(x) << ", min " << hx.min(x) << ", max " << hx.max(x) << " at " << hx.argmax(x) << '\n';
  const std::array<float, 4> v{3, 4, 0, 12};
  std::cout << "dot " << hx.dot(v, v) << ", sum of squares " << hx.sum_squares(v) << '\n';

  const std::size_t side = 128;
  hx::array<float> a(hx, side * side), b(hx, side * side), c(hx, side * side);
  for (std::size_t i = 0; i < a.size(); i++) a[i] = 1, b[i] = static_cast<float>(i % side);
  hx::event product = hx.start(hx_matmul(side, side, side, a.data(), b.data(), c.data()));
  product.wait();
  std::cout << "c[0][1] " << c[1] << ", sum of c " << hx.sum(c) << '\n';

  try {
    hx.max(std::vector<float>());
  } catch (const hx::error &e) {
    std::cout << e.what() << '\n';
  }
} catch (const std::exception &e) {
  std::cerr << e.what() << '\n';
  return 1;
}
