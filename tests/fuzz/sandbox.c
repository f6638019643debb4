// SPDX-License-Identifier: GPL-2.0-only
/* config.json of a container: any text is a sandbox with names that Kubernetes allows, or none. */
#include <string.h>

#include "fuzz.h"
#include "lib/sandbox.h"

static int is_name(const char *name, size_t most)
{
	return *name && strlen(name) <= most && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == strlen(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sandbox s;

	memset(&s, 0xff, sizeof(s));
	if (sandbox_parse((const char *)data, size, &s) != SANDBOX_POD)
		return 0;
	FUZZ_ASSERT(memchr(s.name, 0, sizeof(s.name)) && memchr(s.namespace, 0, sizeof(s.namespace)));
	FUZZ_ASSERT(memchr(s.netns, 0, sizeof(s.netns)) && s.netns[0] == '/');
	FUZZ_ASSERT(is_name(s.name, POD_NAME_MAX) && is_name(s.namespace, POD_NAMESPACE_MAX) &&
		    !strchr(s.namespace, '.'));
	return 0;
}
