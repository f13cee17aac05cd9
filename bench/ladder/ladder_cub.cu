// SPDX-License-Identifier: Apache-2.0
// CUB's sum of u32 behind three C functions. CUB is headers alone, so there is no library to load: hx-bench writes this
// file to a folder of its own, has nvcc make a shared object of it where nvcc is, and loads that.
#include <chrono>
#include <cub/cub.cuh>

static unsigned *x, *out;
static void *room;
static size_t room_bytes;
static cudaEvent_t from, to;

// 0, or a CUDA error.
extern "C" int ladder_cub_open(const unsigned *host, size_t n) {
  cudaError_t e = cudaMalloc(&x, n * sizeof *x);
  if (!e) e = cudaMalloc(&out, sizeof *out);
  if (!e) e = cudaMemcpy(x, host, n * sizeof *x, cudaMemcpyHostToDevice);
  if (!e) e = cub::DeviceReduce::Sum(nullptr, room_bytes, x, out, (int)n);
  if (!e) e = cudaMalloc(&room, room_bytes += 1 << 20);
  if (!e) e = cudaEventCreate(&from);
  if (!e) e = cudaEventCreate(&to);
  return (int)e;
}

// The sum of the first n: seconds by CUDA's events, and by the clock until the host has the sum. The first call is not
// timed: the card comes from another program's or OpenCL's context, and changing contexts would count as time between the events.
extern "C" int ladder_cub_sum(size_t n, unsigned *sum, double *event_s, double *wall_s) {
  float ms = 0;
  cudaError_t e = cub::DeviceReduce::Sum(room, room_bytes, x, out, (int)n);
  if (!e) e = cudaDeviceSynchronize();
  if (!e) e = cudaEventRecord(from);
  if (!e) e = cub::DeviceReduce::Sum(room, room_bytes, x, out, (int)n);
  if (!e) e = cudaEventRecord(to);
  if (!e) e = cudaEventSynchronize(to);
  if (!e) e = cudaEventElapsedTime(&ms, from, to);
  if (!e) e = cudaMemset(out, 0xa5, sizeof *out);
  if (!e) e = cudaDeviceSynchronize();
  auto start = std::chrono::steady_clock::now();
  if (!e) e = cub::DeviceReduce::Sum(room, room_bytes, x, out, (int)n);
  if (!e) e = cudaMemcpy(sum, out, sizeof *sum, cudaMemcpyDeviceToHost);
  *wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  *event_s = 1e-3 * ms;
  return (int)e;
}

extern "C" void ladder_cub_close() {
  cudaFree(x);
  cudaFree(out);
  cudaFree(room);
  cudaEventDestroy(from);
  cudaEventDestroy(to);
}
