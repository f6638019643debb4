// SPDX-License-Identifier: GPL-2.0-only
/* Advice that is right for this kernel: it names no qdisc that the kernel does not have. */
#include <glob.h>
#include <linux/btf.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "attach/prog/kernel.h"
#include "attach/qdisc/advice.h"
#include "attach/qdisc/queue.h"
#include "lib/net.h"

static int fq = -1; /* unknown */

void kernel_fq_tried(int has)
{
	fq = has;
}

static int builtin_has(const char *path, const char *module)
{
	FILE *f = fopen(path, "re");
	char line[256];
	int has = 0;

	while (f && !has && fgets(line, sizeof(line), f))
		has = strstr(line, module) != NULL;
	if (f)
		fclose(f);
	return has;
}

int kernel_has_fq(void)
{
	char path[256];
	struct utsname u;
	glob_t found = {};

	if (fq >= 0)
		return fq;
	uname(&u);
	snprintf(path, sizeof(path), "/lib/modules/%s/kernel/net/sched/sch_fq.ko*", u.release);
	fq = !access("/sys/module/sch_fq", F_OK) || !glob(path, 0, NULL, &found);
	globfree(&found);
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.builtin", u.release);
	fq = fq || builtin_has(path, "/sch_fq.ko") || kernel_btf_has("fq_sched_data", BTF_KIND_STRUCT) > 0;
	return fq;
}

/* The device whose qdisc loses departure times: the link, or one on which it is. */
static const char *device_without_times(const char *device, char *name)
{
	struct link_info link;
	struct qdisc_info q;
	__u32 ifindex;
	int err = link_get(device, &link) ?: qdisc_get(link.ifindex, &q);

	if (err) {
		msg("%s: reading the qdiscs: %s: the device below it that has no fq is not named", device,
		    strerror(-err));
		return device;
	}
	ifindex = link_lacks_times(link.ifindex, &q);
	return ifindex && if_indextoname(ifindex, name) ? name : device;
}

void advice_get(enum advice_on on, const char *device, struct advice *a)
{
	const char *of = device ?: "DEV";
	char name[IFNAMSIZ];

	if (device && on == ADVICE_TIMES)
		of = device_without_times(device, name);
	a->is_command = 1;
	if (kernel_has_fq()) {
		snprintf(a->text, sizeof(a->text), "tc qdisc replace dev %s root fq", of);
	} else if (on == ADVICE_LENGTH) {
		snprintf(a->text, sizeof(a->text), "tc qdisc replace dev %s root pfifo", of);
	} else {
		a->is_command = 0;
		if (queue_is_possible())
			snprintf(a->text, sizeof(a->text), "write 'queue: sluice' for %s in the configuration",
				 device ? of : "it");
		else
			snprintf(
				a->text, sizeof(a->text),
				"boot a kernel with CONFIG_NET_SCH_FQ (Debian's and Ubuntu's have it): this one has neither fq nor qdiscs in BPF");
	}
}
