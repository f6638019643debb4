// SPDX-License-Identifier: GPL-2.0-only
/* Time series, and counters at times between their samples. */
#include "sum.h"

int series_read(const char *dir, const char *name, size_t columns, struct series *series)
{
	FILE *file = file_open(dir, name, "r");
	long size;

	if (!file)
		return -1;
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	series->columns = columns;
	series->rows = size / (columns * sizeof(uint64_t));
	series->cell = malloc(size + 1);
	if (!series->cell || fread(series->cell, columns * sizeof(uint64_t), series->rows, file) != series->rows)
		die("lab-sum: cannot read %s/%s", dir, name);
	fclose(file);
	return series->rows < 2 ? -1 : 0;
}

uint64_t *series_row(const struct series *series, size_t row)
{
	return series->cell + row * series->columns;
}

uint64_t series_end_us(const struct series *series)
{
	return series_row(series, series->rows - 1)[0];
}

double series_at(const struct series *series, size_t column, double us)
{
	size_t low = 0, high = series->rows - 1;
	const uint64_t *a, *b;

	if (us <= series_row(series, 0)[0])
		return series_row(series, 0)[column];
	if (us >= series_row(series, high)[0])
		return series_row(series, high)[column];
	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (series_row(series, middle)[0] <= us)
			low = middle;
		else
			high = middle;
	}
	a = series_row(series, low);
	b = series_row(series, high);
	return a[column] + (double)(b[column] - a[column]) * (us - a[0]) / (b[0] - a[0]);
}

double port_rate_bps(const struct run *run, int port, double from_us, double to_us)
{
	return (series_at(&run->ports, port + 1, to_us) - series_at(&run->ports, port + 1, from_us)) * 8e6 /
	       (to_us - from_us);
}

uint64_t port_begun_us(const struct run *run, int port)
{
	uint64_t first = series_row(&run->ports, 0)[port + 1];
	size_t row;

	for (row = 0; row < run->ports.rows; row++)
		if (series_row(&run->ports, row)[port + 1] - first >= LAB_BEGUN_BYTES)
			return series_row(&run->ports, row)[0];
	return 0;
}
