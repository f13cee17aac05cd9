/* SPDX-License-Identifier: Apache-2.0
 * The process's devices and the thread that finds and prepares them. */
#ifndef HX_BACKEND_REGISTRY_H
#define HX_BACKEND_REGISTRY_H

#include "runtime/backend/backend.h"

/* Sees to it, where the main thread calls, that exit waits for threads inside a driver. */
void hx__registry_install_exit_hook(void);

/* The same for the calling thread, if it is that which exits. */
void hx__registry_install_thread_exit_hook(void);

/* Starts the discovery where it has not begun; returns at once. */
void hx__registry_start(void);
/* Waits for it until deadline_ns, or until a driver call has slept for hang_ns; false then, and from then on at once
 * for as long as that call lasts. */
bool hx__registry_wait(uint64_t deadline_ns, uint64_t hang_ns);
/* Whether it has ended: the list is then fixed. */
bool hx__registry_done(void);
/* Brackets work that keeps the machine's cores busy. Preparing waits for its end, unless somebody waits for the device:
 * drivers compile at their first launches, at normal priority. Work of over ten seconds is not waited for: preparing
 * costs less than a tenth of it. */
void hx__registry_cores_busy(void);
void hx__registry_cores_free(void);

/* Whether a driver or compiler of ours is at work now: what devices do beside it takes longer than it otherwise does.
 */
bool hx__registry_busy(void);
/* Whether one is on a thread that does not give way to others, so that what the CPU does takes longer too. */
bool hx__registry_slows_cpu(void);
/* The devices that were found on the registry's thread, in the order of the backends. None before hx__registry_done. */
size_t hx__registry_devices(hx__device *const **list);
/* Writes the devices of one backend for a context, at most max, and returns how many there are: those found by the
 * registry, or those that the backend describes now, whose kernels are then ready. */
size_t hx__registry_devices_of(const hx__backend *backend, const hx__config *config, hx__device **list, size_t max);

/* The needs of a task on a device for a context with this HX_TILE (0,0,0: by device): the product's bit stands for the
 * tile. Tiles are remembered; past HX__TILES of them the default is used. */
uint64_t hx__device_needs(hx__device *device, uint64_t needs, const uint32_t tile[3]);

/* Asks for kernels in the background, before those that earlier calls asked for; what was asked for before costs two
 * atomic reads. The product brings HX__NEED_TILES along, for when nothing else is left to do. */
void hx__prepare(hx__device *device, uint64_t needs);
/* Whether somebody waits in hx__prepare_wait: what is to be built is then urgent. */
bool hx__registry_is_awaited(void);
/* Waits until each of needs is ready or refused, or the device is lost; or as hx__registry_wait. */
void hx__prepare_wait(hx__device *device, uint64_t needs, uint64_t deadline_ns, uint64_t hang_ns);

#endif
