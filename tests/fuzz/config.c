// SPDX-License-Identifier: GPL-2.0-only
/* The configuration: any file is either applied as a whole or refused with a message; nothing leaks. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/config.h"
#include "file.h"

/* The files of keys: none but the two below, whatever path the input names. */
int __real_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...);

int __wrap_open(const char *name, int flags, ...)
{
	const char *keys = strstr(name, "bad") ? "0011\n" : "00112233445566778899aabbccddeeff\n";
	int key;

	if (!strcmp(name, file_path))
		return __real_open(name, flags, 0);
	if (!strstr(name, "key")) {
		errno = ENOENT;
		return -1;
	}
	key = memfd_create("key", MFD_CLOEXEC);
	FUZZ_ASSERT(key >= 0 && !fchmod(key, strstr(name, "open") ? 0644 : 0600));
	FUZZ_ASSERT(write(key, keys, strlen(keys)) == (ssize_t)strlen(keys) && !lseek(key, 0, SEEK_SET));
	return key;
}

/* The values that the rest of the daemon derives from it at once. */
static void config_use(const struct config *c)
{
	struct port_classes classes;
	unsigned int i;

	FUZZ_ASSERT(c->mode <= MODE_ENFORCE && c->port && c->port <= 0xffff && c->max_flows);
	FUZZ_ASSERT(c->eta >= 0.5 && c->eta <= 1 && c->hpcc.max_stage <= 255 && c->horizon_ns <= NSEC_PER_SEC);
	FUZZ_ASSERT(c->interfaces_count <= CONFIG_INTERFACES && c->node.pod_cidrs_count <= CONFIG_POD_CIDRS);
	FUZZ_ASSERT(c->keys.n <= AUTH_SLOTS);
	config_count_ns(c);
	config_hiercc(c);
	for (i = 0; i < c->interfaces_count; i++) {
		FUZZ_ASSERT(c->interfaces[i].classes_count <= CLASSES_MAX);
		memset(&classes, 0, sizeof(classes));
		if (c->interfaces[i].classes_count)
			config_classes_value(&c->interfaces[i], c->interfaces[i].speed_bps ?: 10000000000ULL, &classes);
		config_is_uplink(c, c->interfaces[i].name);
	}
	for (i = 0; i < c->peers_count; i++) {
		struct peer v = config_peer_value(c, &c->peers[i]);

		FUZZ_ASSERT(v.t_ns && v.t_ns < 1 << 30 && v.eta && v.eta <= Q24_ONE && v.variant < HPCC_VARIANTS);
		FUZZ_ASSERT(v.w_ai <= q12_from_bytes(HPCC_W_MAX_BYTES) && v.flows && c->peers[i].key.prefixlen <= 128);
		FUZZ_ASSERT(v.feedback < RX_FEEDBACKS && v.telemetry < TELEMETRY_MODES && v.voq_period_ns);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config *c = NULL;
	int err;

	file_is(data, size);
	err = config_load(file_path, &c);
	if (err) {
		FUZZ_ASSERT(err < 0 && !c && said_bytes);
		return 0;
	}
	FUZZ_ASSERT(c);
	config_use(c);
	config_free(c);
	return 0;
}
