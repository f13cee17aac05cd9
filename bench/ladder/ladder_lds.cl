/* SPDX-License-Identifier: Apache-2.0
 * Accesses to local memory. MODE 0: reads of WIDTH words, where the host says which element each lane of 32 reads, so that
 * one kernel serves every pattern. MODE 1: copies of WIDTH words from global to local memory, by METHOD, in STAGES. LOCAL is
 * the size of a work-group. The sums are exact, and differ if a word is missing or is another one. */

#define WORDS 4096 /* of `words`, and of the local array of MODE 0 */
#define UNROLL 16  /* reads or copies of a round of MODE 0 */
#define NONE 0xffffffffu

#if WIDTH == 1
typedef uint element;
#define SUM(v) (v)
#elif WIDTH == 2
typedef uint2 element;
#define SUM(v) ((v).x + (v).y)
#else
typedef uint4 element;
#define SUM(v) ((v).x + (v).y + (v).z + (v).w)
#endif

#if MODE == 0

/* The rows that rounds and unrolled reads begin at are 128 words apart: a multiple of all banks, so the pattern is the
 * same in each of them. The row of a round is computed, because otherwise compilers would read only once. */
kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void lds(global const uint *words, global const uint *places,
                                                                   uint rounds, global uint *out) {
  local uint tile[WORDS] __attribute__((aligned(16)));
  const uint item = (uint)get_local_id(0), at = places[item % 32];
  uint sum = 0;
  for (uint i = item; i < WORDS; i += LOCAL) tile[i] = words[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (at != NONE)
    for (uint r = 0; r < rounds; r++) {
      local const element *const row = (local const element *)(tile + r % 8 * 128) + at;
#pragma unroll
      for (uint u = 0; u < UNROLL; u++) {
        const element v = row[u * (128 / WIDTH)];
        sum += SUM(v);
      }
    }
  out[get_global_id(0)] = sum;
}

#else

/* Methods. Of CA and CG, FILL is how many bytes of the element odd items copy; zeros fill the rest. With the last two, which
 * are .ca, odd items copy nothing, because of a predicate or a branch; they write zeros once, before the first copy. */
#define REGISTERS 0
#define CA 1
#define CG 2
#define CA_PREDICATE 3
#define CA_BRANCH 4
#if METHOD == REGISTERS
#define STATE
#define COPY(to, from) *(to) = *(from);
#define COMMIT
#define ARRIVE
#else
#if METHOD == CG
#define CACHE "cg"
#else
#define CACHE "ca"
#endif
#if WIDTH == 1
#define BYTES "4"
#elif WIDTH == 2
#define BYTES "8"
#else
#define BYTES "16"
#endif
#if METHOD == CA_PREDICATE || METHOD == CA_BRANCH
#define STATE                        \
  const uint copies = item % 2 == 0; \
  for (uint s = 0; s < STAGES && !copies; s++) to[s * LOCAL] = 0;
#if METHOD == CA_PREDICATE
#define COPY(to, from)                                                                                              \
  __asm__ __volatile__("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async." CACHE ".shared.global [%0], [%1], " BYTES \
                       "; }" : : "r"((uint)(size_t)(to)), "l"(from), "r"(copies) : "memory");
#else
#define COPY(to, from)                                                                                              \
  if (copies)                                                                                                       \
    __asm__ __volatile__("cp.async." CACHE ".shared.global [%0], [%1], " BYTES ";" : : "r"((uint)(size_t)(to)),         \
                         "l"(from) : "memory");
#endif
#elif defined FILL /* the odd items copy FILL bytes, the even ones all */
#define STATE const uint bytes = item % 2 ? FILL : 4 * WIDTH;
#define COPY(to, from)                                                                                      \
  __asm__ __volatile__("cp.async." CACHE ".shared.global [%0], [%1], " BYTES ", %2;" : : "r"((uint)(size_t)(to)), \
                       "l"(from), "r"(bytes) : "memory");
#else
#if FETCH == 64 /* bytes that the L2 cache reads at once */
#define AHEAD ".L2::64B"
#elif FETCH == 128
#define AHEAD ".L2::128B"
#elif FETCH == 256
#define AHEAD ".L2::256B"
#else
#define AHEAD ""
#endif
#define STATE
#define COPY(to, from)                                                                                              \
  __asm__ __volatile__("cp.async." CACHE ".shared.global" AHEAD " [%0], [%1], " BYTES ";" : : "r"((uint)(size_t)(to)), \
                       "l"(from) : "memory");
#endif
#if STAGES == 1
#define COMMIT
#define ARRIVE __asm__ __volatile__("cp.async.wait_all;" : : : "memory");
#else
#define COMMIT __asm__ __volatile__("cp.async.commit_group;" : : : "memory");
#define ARRIVE __asm__ __volatile__("cp.async.wait_group %0;" : : "n"(STAGES - 1) : "memory");
#endif
#endif

/* Each item copies an element per round and adds the element that the last item but as many has copied: with one round,
 * one word per item and 32 items these are 32 integers reversed through local memory. */
kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void lds(global const uint *words, global const uint *places,
                                                                   uint rounds, global uint *out) {
  local uint tile[STAGES * LOCAL * WIDTH] __attribute__((aligned(16)));
  const uint item = (uint)get_local_id(0), blocks = WORDS / (LOCAL * WIDTH);
  global const element *const from = (global const element *)words + item;
  local element *const to = (local element *)tile + item, *const other = (local element *)tile + (LOCAL - 1 - item);
  uint sum = 0;
  STATE
#define BEGIN(round) \
  if ((round) < rounds) COPY(to + (round) % STAGES * LOCAL, from + (round) % blocks * LOCAL) COMMIT
  for (uint s = 0; s + 1 < STAGES; s++) { BEGIN(s) }
  for (uint r = 0; r < rounds; r++) {
    BEGIN(r + STAGES - 1)
    ARRIVE
    barrier(CLK_LOCAL_MEM_FENCE);
    const element v = other[r % STAGES * LOCAL];
    sum += SUM(v);
    barrier(CLK_LOCAL_MEM_FENCE); /* no item still reads what the next copy replaces */
  }
  out[get_global_id(0)] = sum;
}

#endif
