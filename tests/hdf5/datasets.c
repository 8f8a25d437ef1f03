/* SPDX-License-Identifier: MIT */
/* datasets - some datasets of a file, written and read a known number of times: datasets FILE */
#include <hdf5.h>
#include <stdio.h>

#define DATASETS 13
#define WRITES 17 /* of each */
#define READS 11
#define ATTRIBUTES 7
#define ROWS 9973 /* more than the 64 KiB that it collects before it writes */

static double values[ROWS];

static void use(hid_t file, hid_t space, int number)
{
	hid_t set;
	char name[32];

	snprintf(name, sizeof(name), "set%d", number);
	set = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT,
			 H5P_DEFAULT);
	for (int i = 0; i < WRITES; i++)
		H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
	for (int i = 0; i < READS; i++)
		H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
	H5Dclose(set);
}

int main(int argc, char **argv)
{
	hsize_t rows = ROWS;
	hid_t file, space, one, attribute;

	if (argc != 2)
		return 2;
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	for (int i = 0; i < 3; i++)
		H5Fopen("/nowhere", H5F_ACC_RDONLY, H5P_DEFAULT);
	file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	space = H5Screate_simple(1, &rows, NULL);
	for (int i = 0; i < DATASETS; i++)
		use(file, space, i);
	one = H5Screate(H5S_SCALAR);
	attribute = H5Acreate2(file, "about", H5T_NATIVE_DOUBLE, one, H5P_DEFAULT, H5P_DEFAULT);
	for (int i = 0; i < ATTRIBUTES; i++)
		H5Awrite(attribute, H5T_NATIVE_DOUBLE, values);
	H5Aclose(attribute);
	H5Sclose(one);
	H5Sclose(space);
	return H5Fclose(file) < 0;
}
