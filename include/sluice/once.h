/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ONCE_H
#define SLUICE_ONCE_H
/*
 * Access to a field that another CPU, or the other side of a shared map, may change at any time: it is read or written
 * exactly once and as a whole. This orders nothing; a field that has to agree with another documents how in its file.
 */
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))

#endif
