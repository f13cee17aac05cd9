/* SPDX-License-Identifier: Apache-2.0
 * The process's devices, and the threads that find and prepare them. */
#ifndef HX_BACKEND_REGISTRY_H
#define HX_BACKEND_REGISTRY_H

#include "runtime/backend/backend.h"

/* Called on the main thread: lets exit wait for threads inside a driver. */
void hx__registry_install_exit_hook(void);

/* The same for the calling thread, in case that thread calls exit. */
void hx__registry_install_thread_exit_hook(void);

/* Starts the discovery if it has not begun. Returns at once. */
void hx__registry_start(void);
/* Waits for the end of the discovery. False: it has not ended by deadline_ns, or a driver call has slept for hang_ns;
 * while that call lasts, further calls return false at once. */
bool hx__registry_wait(uint64_t deadline_ns, uint64_t hang_ns);
/* Whether the discovery has ended. The list of devices is then final. */
bool hx__registry_done(void);
/* Bracket a run that keeps the cores busy. Preparing waits for its end, because drivers compile at normal priority at
 * their first launches, unless a call waits for the device. After ten seconds preparing does not wait any more: it then
 * costs less than a tenth of the run. */
void hx__registry_cores_busy(void);
void hx__registry_cores_free(void);

/* Whether a thread of hx is inside a driver or its compiler: devices may be slower than usual. */
bool hx__registry_busy(void);
/* Whether such a thread has normal priority, so that the CPU may be slower, too. */
bool hx__registry_slows_cpu(void);
/* The devices of HX__DISCOVER_PROCESS backends, in the order of the backends. None before hx__registry_done. */
size_t hx__registry_devices(hx__device *const **list);
/* Writes the devices of one backend for a context, at most max, and returns how many there are. Those of
 * HX__DISCOVER_PROCESS come from the registry; others are discovered now, and their kernels are ready on return. */
size_t hx__registry_devices_of(const hx__backend *backend, const hx__config *config, hx__device **list, size_t max);

/* The need bits of a task on a device for a context with this HX_TILE (0, 0, 0: the device's own): the bit of the
 * product is replaced by the bit of the product with that tile. Only HX__TILES tiles are stored; the default serves
 * others. */
uint64_t hx__device_needs(hx__device *device, uint64_t needs, const uint32_t tile[3]);

/* Requests kernels in the background, before those that earlier calls requested. Two atomic reads if they are decided
 * already. The product also requests HX__NEED_TILES, which is prepared last. */
void hx__prepare(hx__device *device, uint64_t needs);
/* Whether a call waits in hx__prepare_wait: building is then urgent. */
bool hx__registry_is_awaited(void);
/* Requests kernels and waits until each is ready or refused, or the device is lost. Gives up like hx__registry_wait. */
void hx__prepare_wait(hx__device *device, uint64_t needs, uint64_t deadline_ns, uint64_t hang_ns);

#endif
