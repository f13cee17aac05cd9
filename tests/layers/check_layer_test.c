/* SPDX-License-Identifier: Apache-2.0
 * The checking layer finds the violations that it is written for, and no others:
 *     check_layer_test libcheck_layer.so  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

static const char kSource[] = "kernel void touch(global uint *x) { x[get_global_id(0)] += 1; }";
static unsigned failed;

static void expect(const char *what, int right) {
  printf("%s: %s\n", what, right ? "right" : "WRONG");
  failed += !right;
}

static cl_int launch(cl_command_queue queue, cl_kernel kernel) {
  size_t global = 64;
  cl_int s = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
  clFinish(queue);
  return s;
}

static void check_buffers(cl_context context, cl_command_queue queue, cl_kernel kernel) {
  char *host = aligned_alloc(4096, 16384);
  cl_int s;
  cl_mem a = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 8192, host, &s);
  expect("a buffer over host memory", s == CL_SUCCESS);
  cl_mem b = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 8192, host + 8192, &s);
  expect("its neighbour", s == CL_SUCCESS);
  cl_mem c = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, 64, host + 8191, &s);
  expect("one that overlaps both is refused", c == NULL && s == CL_INVALID_OPERATION);
  clReleaseMemObject(b);
  b = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 8192, host + 8192, &s);
  expect("the same memory after a release", s == CL_SUCCESS);

  cl_buffer_region half = {0, 4096};
  cl_mem sub = clCreateSubBuffer(a, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, &s);
  clSetKernelArg(kernel, 0, sizeof sub, &sub);
  expect("a launch", launch(queue, kernel) == CL_SUCCESS);
  void *p = clEnqueueMapBuffer(queue, a, CL_TRUE, CL_MAP_READ, 0, 8192, 0, NULL, NULL, &s);
  expect("a launch under a map for reading", launch(queue, kernel) == CL_SUCCESS);
  clEnqueueUnmapMemObject(queue, a, p, 0, NULL, NULL);
  p = clEnqueueMapBuffer(queue, a, CL_TRUE, CL_MAP_WRITE, 0, 8192, 0, NULL, NULL, &s);
  expect("one under a map for writing is refused", launch(queue, kernel) == CL_INVALID_OPERATION);
  clEnqueueUnmapMemObject(queue, a, p, 0, NULL, NULL);
  expect("a launch after the unmap", launch(queue, kernel) == CL_SUCCESS);
  clReleaseMemObject(a); /* it remains alive as long as its sub-buffer */
  c = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, 64, host, &s);
  expect("an overlap with the parent of a live sub-buffer is refused", c == NULL);
  clReleaseMemObject(sub);
  clReleaseMemObject(b);
  c = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, 64, host, &s);
  expect("the whole again once all is released", c != NULL);
  clReleaseMemObject(c);
  free(host);
}

static void check_reads(cl_context context, cl_command_queue queue) {
  char host[64] = "what an earlier read brought";
  cl_int s;
  cl_mem mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof host, (char[64]){"new"}, &s);
  cl_event gate = clCreateUserEvent(context, &s), come;
  s = clEnqueueReadBuffer(queue, mem, CL_FALSE, 0, sizeof host, host, 1, &gate, &come);
  expect("what a read is to fill is gone before it begins", s == CL_SUCCESS && (unsigned char)host[0] == 0xa5);
  clSetUserEventStatus(gate, CL_COMPLETE);
  clWaitForEvents(1, &come);
  expect("and what it brings is right", strcmp(host, "new") == 0);
  clReleaseEvent(come);
  clReleaseEvent(gate);
  clReleaseMemObject(mem);
}

static void check_svm(cl_context context, cl_command_queue queue, cl_kernel kernel) {
  void *plain = malloc(4096);
  char *coarse = clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0);
  char *fine = clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, 4096, 0);
  expect("SVM", coarse != NULL && fine != NULL);
  expect("a plain pointer is refused", clSetKernelArgSVMPointer(kernel, 0, plain) == CL_INVALID_OPERATION);
  expect("an inner SVM pointer", clSetKernelArgSVMPointer(kernel, 0, coarse + 1024) == CL_SUCCESS);
  expect("a launch on SVM", launch(queue, kernel) == CL_SUCCESS);
  clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, coarse, 4096, 0, NULL, NULL);
  expect("one under a map for writing is refused", launch(queue, kernel) == CL_INVALID_OPERATION);
  clEnqueueSVMUnmap(queue, coarse, 0, NULL, NULL);
  expect("a launch after the unmap", launch(queue, kernel) == CL_SUCCESS);
  clSetKernelArgSVMPointer(kernel, 0, fine);
  clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, fine, 4096, 0, NULL, NULL);
  expect("fine-grain SVM needs no map", launch(queue, kernel) == CL_SUCCESS);
  clSVMFree(context, coarse);
  clSVMFree(context, fine);
  free(plain);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  char *layer = realpath(argv[1], NULL);
  const char *scratch = getenv("TEST_TMPDIR");
  char log[4096], line[512];
  if (layer == NULL) return 2;
  snprintf(log, sizeof log, "%s/check_layer_test.%s", scratch ? scratch : "/tmp", "log");
  remove(log);
  setenv("OCL_ICD_VENDORS", "/etc/OpenCL/vendors/pocl.icd", 1);
  setenv("OPENCL_LAYERS", layer, 1);
  setenv("LAYER_LOG", log, 1);
  setenv("LAYER_CHECK", "go-on", 1);
  free(layer);

  cl_platform_id platform;
  cl_device_id device;
  cl_int s = clGetPlatformIDs(1, &platform, NULL);
  if (s == CL_SUCCESS) s = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  if (s != CL_SUCCESS) {
    printf("no PoCL: %d\n", s);
    return 1;
  }
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &s);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &s);
  const char *source = kSource;
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &s);
  clBuildProgram(program, 1, &device, "", NULL, NULL);
  cl_kernel kernel = clCreateKernel(program, "touch", &s);
  if (s != CL_SUCCESS) {
    printf("no kernel: %d\n", s);
    return 1;
  }
  check_buffers(context, queue, kernel);
  check_svm(context, queue, kernel);
  check_reads(context, queue);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);

  unsigned loaded = 0, violations = 0;
  FILE *file = fopen(log, "r");
  while (file && fgets(line, sizeof line, file)) {
    loaded += strstr(line, " loaded") != NULL;
    violations += strstr(line, "VIOLATION") != NULL;
  }
  if (file) fclose(file);
  expect("the layer spoke", loaded == 1);
  expect("a line for each of five violations", violations == 5);
  printf("check_layer_test: %u wrong\n", failed);
  return failed > 0;
}
