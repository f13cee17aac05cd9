/* SPDX-License-Identifier: Apache-2.0
 * The loops of the address-arithmetic study, and the ways by which a value can be known to be the same for all items of a
 * wavefront. FORM is one of the names below. `hx-bench ladder addressing` times them; `hx isa addressing` counts the
 * instructions of the last loop. Groups have elements of their own, so that results are exact. */
#define INDEX_TWICE 1    /* p[2 i] */
#define POINTER_BY_TWO 2 /* p += 2 */
#define ITEM_PER_PIXEL 3
#define ITEM_PER_ROW 4
#define F 5 /* the study's names */
#define G 6
#define H 7
#define TWO_ARRAYS 8
#define ONE_ARRAY 9
#define SCALE_ARGUMENT 10
#define SCALE_COMPILED 11
#define SCALE_CONSTANT 12
#define SCALE_DIVERGENT 13
#define INDEX_TWICE_BY_FOUR 14 /* as the study's compiler unrolled its loop */
#define POINTER_BY_TWO_BY_FOUR 15
/* Advice of the optimisation guide and of PCL-Reduction on integers. */
#define PLACE_DIVIDED 16
#define PLACE_SHIFTED 17
#define TIMES_32 18
#define TIMES_24 19
#define KEY_BRANCH 20
#define KEY_BITS 21

#define WIDTH 32 /* items per row of F, G and H, elements of a local array */
#define ROW(elements) (p + get_group_id(0) * (elements))

kernel void loop(global int *p, constant int *scales, int n, int step, int scale) {
  const int lid = (int)get_local_id(0);
#if FORM == INDEX_TWICE
  p = ROW((size_t)n * 2);
#pragma unroll 1
  for (int i = 0; i < n; i++) p[i * 2] = 100;
#elif FORM == POINTER_BY_TWO
  p = ROW((size_t)n * 2);
#pragma unroll 1
  for (int i = 0; i < n; i++, p += 2) *p = 100;
#elif FORM == INDEX_TWICE_BY_FOUR /* by hand: a compiler adds a second loop, for what remains */
  p = ROW((size_t)n * 2);
#pragma unroll 1
  for (int i = 0; i < n; i += 4) {
    p[i * 2] = 100;
    p[(i + 1) * 2] = 100;
    p[(i + 2) * 2] = 100;
    p[(i + 3) * 2] = 100;
  }
#elif FORM == POINTER_BY_TWO_BY_FOUR
  p = ROW((size_t)n * 2);
#pragma unroll 1
  for (int i = 0; i < n; i += 4) {
    for (int j = 0; j < 4; j++, p += 2) *p = 100;
  }
#elif FORM == ITEM_PER_PIXEL /* no loop: the whole kernel is counted */
  const int x = (int)get_global_id(0), y = (int)get_global_id(1);
  p[y * step + x] ^= 1;
#elif FORM == ITEM_PER_ROW
  global int *at = p + (int)get_global_id(0) * step;
#pragma unroll 1
  for (int x = 0; x < n; x++, at++) *at ^= 1;
#elif FORM == F /* the index has a part per item */
  if (lid < WIDTH) {
    global int *const row = ROW((size_t)n * WIDTH);
#pragma unroll 1
    for (int i = lid; i < n * WIDTH; i += WIDTH) row[i]++;
  }
#elif FORM == G /* the part per item is added last, and the branch is within the loop */
  global int *const row = ROW((size_t)n * WIDTH);
#pragma unroll 1
  for (int i = 0; i < n * WIDTH; i += WIDTH)
    if (lid < WIDTH) row[i + lid]++;
#elif FORM == H /* a pointer per item, and an offset in bytes that all items share */
  if (lid < WIDTH) {
    global char *const row = (global char *)(ROW((size_t)n * WIDTH) + lid);
#pragma unroll 1
    for (int i = 0; i < n * WIDTH * (int)sizeof(int); i += WIDTH * (int)sizeof(int)) (*(global int *)(row + i))++;
  }
#elif FORM == TWO_ARRAYS || FORM == ONE_ARRAY
#if FORM == TWO_ARRAYS
  local int a[WIDTH], b[WIDTH];
#else
  local int a[2 * WIDTH];
  local int *const b = a + WIDTH;
#endif
  p = ROW((size_t)n * 2);
  a[lid] = p[lid];
  b[lid] = p[lid + n];
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
  for (int i = 0; i < n; i++) p[i] = a[i] + b[i];
#elif FORM == PLACE_DIVIDED /* rows of WIDTH in rows of twice as many */
#pragma unroll 1
  for (uint i = (uint)lid; i < (uint)n; i += (uint)step) p[i / WIDTH * 2 * WIDTH + i % WIDTH]++;
#elif FORM == PLACE_SHIFTED
#pragma unroll 1
  for (uint i = (uint)lid; i < (uint)n; i += (uint)step) p[(i >> 5 << 6) + (i & (WIDTH - 1))]++;
#elif FORM == TIMES_32 || FORM == TIMES_24
  global int *at = p + lid;
#pragma unroll 1
#if FORM == TIMES_32
  for (int i = 0; i < n; i++, at += WIDTH) *at *= step;
#else
  for (int i = 0; i < n; i++, at += WIDTH) *at = mul24(*at, step);
#endif
#elif FORM == KEY_BRANCH || FORM == KEY_BITS /* the bits of a float as a number of the same order */
  global uint *at = (global uint *)p + lid;
#pragma unroll 1
  for (int i = 0; i < n; i++, at += WIDTH) {
    uint bits = *at;
#if FORM == KEY_BITS
    bits ^= (uint)((int)bits >> 31) | 0x80000000u;
#else
    if (bits >> 31)
      bits = ~bits;
    else
      bits += 0x80000000u;
#endif
    *at = bits;
  }
#else /* one multiplication per pass, by a value that does not differ between items */
#if FORM == SCALE_ARGUMENT
  const int s = scale + step;
#elif FORM == SCALE_COMPILED
  const int s = 7;
#elif FORM == SCALE_CONSTANT
  const int s = scales[step];
#else
  int s = step;
  if (lid & 1) s = scale; /* the same for all items that come here, but decided by a value that is not */
#endif
  global int *at = ROW((size_t)n * WIDTH) + lid;
#pragma unroll 1
  for (int i = 0; i < n; i++, at += WIDTH) *at = *at * s + i;
#endif
}
