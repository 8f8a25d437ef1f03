/* SPDX-License-Identifier: MIT */
#include <stdio.h>

int main(void)
{
	fputs("jobmeter " JOBMETER_VERSION "\n", stdout);
	return 0;
}
