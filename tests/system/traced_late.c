/* SPDX-License-Identifier: MIT */
/* traced_late - a library that traced opens late. */
long late_work(long n);

static volatile long sink;

__attribute__((noinline)) long late_work(long n)
{
	__asm__ volatile("nop");
	sink = n;
	return n;
}
