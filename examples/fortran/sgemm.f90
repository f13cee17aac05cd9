! SPDX-License-Identifier: Apache-2.0
! A product by the BLAS routine SGEMM, which hx computes if the program is linked with libhx_blas.so:
!
!     gfortran sgemm.f90 -o sgemm -L$(pkg-config --variable=libdir hx) -lhx_blas && ./sgemm
!
! or with any other BLAS, and then run under hx:
!
!     gfortran sgemm.f90 -o sgemm -lblas && LD_PRELOAD=$(pkg-config --variable=libdir hx)/libhx_blas.so ./sgemm
!
! With HX_LOG=info each call says who computed it. Nothing is declared but SGEMM itself: Fortran knows a BLAS.
program product
  implicit none
  external :: sgemm
  integer, parameter :: m = 300, n = 200, k = 400
  real :: a(m, k), b(k, n), c(m, n), expected(m, n)
  integer :: i, j

  do j = 1, k
    do i = 1, m
      a(i, j) = real(mod(i + 2 * j, 7) - 3)
    end do
  end do
  do j = 1, n
    do i = 1, k
      b(i, j) = real(mod(3 * i + j, 5) - 2)
    end do
  end do

  ! C = A B, of whole matrices that are stored by columns without gaps.
  call sgemm('N', 'N', m, n, k, 1.0, a, m, b, k, 0.0, c, m)

  print '(a, i0, a, i0, a)', 'c(1, 1) is ', nint(c(1, 1)), ', c(300, 200) is ', nint(c(m, n)), '.'
  expected = matmul(a, b)
  if (maxval(abs(c - expected)) > 0.0) error stop 'An element differs from that of matmul.'
  print '(a)', 'All elements are those of matmul.'
end program product
