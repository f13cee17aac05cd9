// SPDX-License-Identifier: Apache-2.0
// The peers of time_card_maps behind C functions: the same expressions as plain CUDA kernels and by Thrust, and a copy of
// as many bytes. Each returns 0, or a CUDA error; the result of a call is complete when it returns.
#include <thrust/device_ptr.h>
#include <thrust/functional.h>
#include <thrust/inner_product.h>
#include <thrust/transform_reduce.h>

static float *x, *y, *out;

__global__ static void saxpy_kernel(const float *x, const float *y, float a, float *out, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}

extern "C" int peer_open(const float *host_x, const float *host_y, size_t n) {
  cudaError_t e = cudaMalloc(&x, n * sizeof *x);
  if (!e) e = cudaMalloc(&y, n * sizeof *y);
  if (!e) e = cudaMalloc(&out, n * sizeof *out);
  if (!e) e = cudaMemcpy(x, host_x, n * sizeof *x, cudaMemcpyHostToDevice);
  if (!e) e = cudaMemcpy(y, host_y, n * sizeof *y, cudaMemcpyHostToDevice);
  return (int)e;
}

extern "C" int peer_saxpy(size_t n) {
  saxpy_kernel<<<(unsigned)((n + 255) / 256), 256>>>(x, y, 1.5f, out, n);
  return (int)cudaDeviceSynchronize();
}

// Reads and writes 12 n bytes in all, as saxpy does.
extern "C" int peer_copy(size_t n) {
  size_t half = n / 2 * sizeof(float);
  cudaError_t e = cudaMemcpyAsync(out, x, n * sizeof(float), cudaMemcpyDeviceToDevice);
  if (!e) e = cudaMemcpyAsync(out, y, half, cudaMemcpyDeviceToDevice);
  if (!e) e = cudaDeviceSynchronize();
  return (int)e;
}

struct absolute_difference {
  __host__ __device__ float operator()(float a, float b) const { return fabsf(a - b); }
};

extern "C" int peer_distance(size_t n, float *sum) {
  thrust::device_ptr<const float> a(x), b(y);
  *sum = thrust::inner_product(a, a + n, b, 0.0f, thrust::plus<float>(), absolute_difference());
  return (int)cudaGetLastError();
}

struct square {
  __host__ __device__ float operator()(float a) const { return a * a; }
};

extern "C" int peer_squares(size_t n, float *sum) {
  thrust::device_ptr<const float> a(x);
  *sum = thrust::transform_reduce(a, a + n, square(), 0.0f, thrust::plus<float>());
  return (int)cudaGetLastError();
}

extern "C" void peer_close() {
  cudaFree(x);
  cudaFree(y);
  cudaFree(out);
}
