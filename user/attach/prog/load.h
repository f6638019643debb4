/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_LOAD_H
#define SLUICE_ATTACH_LOAD_H

/* libbpf logs one level lower; the reason of a failed load is kept. */
void libbpf_init(void);
/* The verifier's first error of this process; "": there was none. */
const char *load_reason(void);
/* Why loading programs failed with err, where it is not the kernel's lack of a feature, and what helps; NULL: it is. */
const char *load_error(int err);

#endif
