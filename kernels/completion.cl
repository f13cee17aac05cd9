/* SPDX-License-Identifier: Apache-2.0
 * Brings the host the result of the launches before it, and so the news that they have ended: earlier than an event, and
 * much earlier than a read (docs/measurements/launch-ends.tsv). Each word of the result is stored beside the number of
 * the launch by one store of 64 bits, so a word that the host sees with that number is the new one, and neither the
 * order of the stores nor a fence matters. */
kernel void hx_complete(global const uint *from, uint words, ulong address, uint number) {
  volatile global ulong *const to = (volatile global ulong *)address; /* the host's address is the device's */
  for (uint i = (uint)get_local_id(0); i < words; i += (uint)get_local_size(0)) to[i] = (ulong)number << 32 | from[i];
}
