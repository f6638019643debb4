// SPDX-License-Identifier: GPL-2.0-only
/* Sandboxes of pods: config.json as containerd 1.7 and CRI-O 1.30 write it, shortened; and files that no runtime writes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/sandbox.h"

#define NETNS "/var/run/netns/cni-4f1c2d3e-0000-1111-2222-333344445555"
#define LINUX "\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"network\",\"path\":\"" NETNS "\"}]}"
#define CONTAINERD(name, space)                                                                        \
	"{\"ociVersion\":\"1.1.0\",\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\"," \
	"\"io.kubernetes.cri.sandbox-name\":" name ",\"io.kubernetes.cri.sandbox-namespace\":" space "}," LINUX "}"
#define CRIO(name, space) \
	"{\"annotations\":{\"io.kubernetes.cri-o.ContainerType\":\"sandbox\"," name "," space "}," LINUX "}"

static const char good[] = CONTAINERD("\"web-7d9fxcfb9b-x2x7q\"", "\"shop\"");

/* In memory that is no longer than the text, which the sanitizer watches. */
static enum sandbox_kind parsed(const char *text, size_t n, struct sandbox *s)
{
	char *copy = malloc(n ?: 1);
	enum sandbox_kind kind;

	memcpy(copy, text, n);
	kind = sandbox_parse(copy, n, s);
	free(copy);
	return kind;
}

static enum sandbox_kind kind_of(const char *text)
{
	struct sandbox s;

	return parsed(text, strlen(text), &s);
}

Test(sandbox, of_containerd_has_its_names_and_its_namespace)
{
	struct sandbox s;

	cr_assert_eq(parsed(good, strlen(good), &s), SANDBOX_POD);
	cr_expect_str_eq(s.name, "web-7d9fxcfb9b-x2x7q");
	cr_expect_str_eq(s.namespace, "shop");
	cr_expect_str_eq(s.netns, NETNS);
}

Test(sandbox, of_crio_has_its_names_by_the_kubelet_or_by_itself)
{
	static const char *const texts[] = {
		CRIO("\"io.kubernetes.pod.name\":\"etcd-node.example\"",
		     "\"io.kubernetes.pod.namespace\":\"kube-system\""),
		CRIO("\"io.kubernetes.cri-o.KubeName\":\"etcd-node.example\"",
		     "\"io.kubernetes.cri-o.Namespace\":\"kube-system\""),
	};
	struct sandbox s;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		cr_assert_eq(parsed(texts[i], strlen(texts[i]), &s), SANDBOX_POD, "text %u", i);
		cr_expect_str_eq(s.name, "etcd-node.example");
		cr_expect_str_eq(s.namespace, "kube-system");
	}
}

Test(sandbox, may_share_the_network_namespace_of_the_node)
{
	cr_expect_eq(kind_of("{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\","
			     "\"io.kubernetes.cri.sandbox-name\":\"a\",\"io.kubernetes.cri.sandbox-namespace\":\"b\"},"
			     "\"linux\":{\"namespaces\":[{\"type\":\"pid\"}]}}"),
		     SANDBOX_HOST);
}

Test(sandbox, other_containers_are_none)
{
	cr_expect_eq(kind_of("{}"), SANDBOX_OTHER);
	cr_expect_eq(kind_of("{\"annotations\":{}}"), SANDBOX_OTHER);
	cr_expect_eq(kind_of("{\"annotations\":null}"), SANDBOX_OTHER);
	cr_expect_eq(kind_of("{\"annotations\":{\"io.kubernetes.cri.container-type\":\"container\"}}"), SANDBOX_OTHER);
	cr_expect_eq(kind_of("{\"annotations\":{\"io.kubernetes.cri.container-type\":7}}"), SANDBOX_OTHER);
}

/* Every prefix of a good text, read to its end and no further. */
Test(sandbox, that_is_truncated_is_malformed)
{
	struct sandbox s;
	size_t n;

	for (n = 0; n < strlen(good); n++)
		cr_assert_eq(parsed(good, n, &s), SANDBOX_MALFORMED, "%zu bytes", n);
}

Test(sandbox, names_that_kubernetes_does_not_allow_are_malformed)
{
	static const char *const texts[] = {
		CONTAINERD("\"\"", "\"shop\""),
		CONTAINERD("\"web\"", "\"\""),
		CONTAINERD("7", "\"shop\""),
		CONTAINERD("\"web\"", "null"),
		CONTAINERD("\"Web\"", "\"shop\""),
		CONTAINERD("\"web\"", "\"Shop\""),
		CONTAINERD("\"-web\"", "\"shop\""),
		CONTAINERD("\"web.\"", "\"shop\""),
		CONTAINERD("\"web\"", "\"sh.op\""),
		CONTAINERD("\"we b\"", "\"shop\""),
		CONTAINERD("\"w\\u001b[2Jb\"", "\"shop\""),
		CONTAINERD("\"web\\u0000a\"", "\"shop\""),
		CONTAINERD("\"w\\u00e9b\"", "\"shop\""),
		CONTAINERD("\"../web\"", "\"shop\""),
		CONTAINERD("\"we\nb\"", "\"shop\""),
		CONTAINERD("[\"web\"]", "\"shop\""),
	};
	unsigned int i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect_eq(kind_of(texts[i]), SANDBOX_MALFORMED, "%s", texts[i]);
}

Test(sandbox, names_have_the_lengths_of_kubernetes)
{
	char name[POD_NAME_MAX + 2] = {}, space[POD_NAMESPACE_MAX + 2] = {}, text[2048];
	struct sandbox s;

	memset(name, 'a', POD_NAME_MAX);
	memset(space, 'b', POD_NAMESPACE_MAX);
	snprintf(text, sizeof(text), CONTAINERD("\"%s\"", "\"%s\""), name, space);
	cr_assert_eq(parsed(text, strlen(text), &s), SANDBOX_POD);
	cr_expect_str_eq(s.name, name);
	cr_expect_str_eq(s.namespace, space);
	name[POD_NAME_MAX] = 'a';
	snprintf(text, sizeof(text), CONTAINERD("\"%s\"", "\"%s\""), name, space);
	cr_expect_eq(kind_of(text), SANDBOX_MALFORMED);
	name[POD_NAME_MAX] = 0;
	space[POD_NAMESPACE_MAX] = 'b';
	snprintf(text, sizeof(text), CONTAINERD("\"%s\"", "\"%s\""), name, space);
	cr_expect_eq(kind_of(text), SANDBOX_MALFORMED);
}

Test(sandbox, json_of_another_shape_is_malformed_or_none)
{
	static const char *const texts[] = {
		"", " ", "null", "7", "\"text\"", "[]", "[{}]", "{\"a\"", "{]", "\xff\xfe"
	};
	char deep[4096];
	unsigned int i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect_eq(kind_of(texts[i]), SANDBOX_MALFORMED, "%s", texts[i]);
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = 0;
	cr_expect_eq(kind_of(deep), SANDBOX_MALFORMED, "4095 brackets");
	cr_expect_eq(kind_of("{\"annotations\":[1,2]}"), SANDBOX_OTHER);
}

Test(sandbox, path_of_the_namespace_has_to_be_one)
{
	static const char before[] =
		"{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\","
		"\"io.kubernetes.cri.sandbox-name\":\"a\",\"io.kubernetes.cri.sandbox-namespace\":\"b\"},"
		"\"linux\":";
	char text[8192], path[5000];
	unsigned int i;
	static const struct {
		const char *linux_text;
		enum sandbox_kind kind;
	} cases[] = {
		{ "7}", SANDBOX_HOST },
		{ "{\"namespaces\":{}}}", SANDBOX_HOST },
		{ "{\"namespaces\":[7,null,{},{\"type\":7}]}}", SANDBOX_HOST },
		{ "{\"namespaces\":[{\"type\":\"network\"}]}}", SANDBOX_HOST },
		{ "{\"namespaces\":[{\"type\":\"network\",\"path\":\"\"}]}}", SANDBOX_HOST },
		{ "{\"namespaces\":[{\"type\":\"network\",\"path\":\"netns/a\"}]}}", SANDBOX_MALFORMED },
	};

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", before, cases[i].linux_text);
		cr_expect_eq(kind_of(text), cases[i].kind, "%s", cases[i].linux_text);
	}
	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	snprintf(text, sizeof(text), "%s{\"namespaces\":[{\"type\":\"network\",\"path\":\"%s\"}]}}", before, path);
	cr_expect_eq(kind_of(text), SANDBOX_MALFORMED, "a path of 4999 bytes");
}

/* --- files --- */

static char dir[] = "/tmp/sandbox_test.XXXXXX";

static void file_put(const char *path, const char *text, size_t n)
{
	char full[512], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", dir, path);
	for (slash = strchr(full + sizeof(dir), '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "w");
	cr_assert_not_null(f, "%s", full);
	fwrite(text, 1, n, f);
	fclose(f);
}

static void names_add(const struct sandbox *s, void *ctx)
{
	strcat(strcat(ctx, s->name), " ");
}

Test(sandbox, files_are_bounded_and_counted)
{
	const char *const dirs[] = { "/nowhere/at/all", dir, NULL };
	struct sandboxes_seen seen;
	char names[256] = "", full[512];
	char *large = calloc(1, SANDBOX_FILE_MAX + 1);

	cr_assert_not_null(mkdtemp(dir));
	memset(large, ' ', SANDBOX_FILE_MAX);
	memcpy(large, good, strlen(good));
	file_put("one/config.json", good, strlen(good));
	file_put("two/config.json", large, SANDBOX_FILE_MAX + 1);
	file_put("three/userdata/config.json", large, SANDBOX_FILE_MAX);
	file_put("four/config.json", good, 50);
	file_put("five/other.json", good, 50);
	file_put("six", good, 50);
	snprintf(full, sizeof(full), "%s/seven", dir);
	mkdir(full, 0700);
	snprintf(full, sizeof(full), "%s/seven/config.json", dir);
	mkfifo(full, 0600); /* it is not waited for */
	sandboxes_each(dirs, names_add, names, &seen);
	cr_expect_str_eq(names, "web-7d9fxcfb9b-x2x7q web-7d9fxcfb9b-x2x7q ");
	cr_expect_eq(seen.directories, 1);
	cr_expect_eq(seen.pods, 2);
	cr_expect_eq(seen.large, 1);
	cr_expect_eq(seen.malformed, 1);
	cr_expect_eq(seen.unreadable, 1);
	cr_expect_eq(seen.beyond, 0);
	free(large);
	snprintf(full, sizeof(full), "rm -r %s", dir);
	cr_expect_eq(system(full), 0);
}

static void count(const struct sandbox *s, void *ctx)
{
	(void)s;
	++*(unsigned int *)ctx;
}

Test(sandbox, number_of_them_is_bounded, .timeout = 120)
{
	const char *const dirs[] = { dir, NULL };
	struct sandboxes_seen seen;
	unsigned int i, called = 0;
	char name[64], full[512];

	cr_assert_not_null(mkdtemp(dir));
	for (i = 0; i < SANDBOXES_MAX + 7; i++) {
		snprintf(name, sizeof(name), "%u/config.json", i);
		file_put(name, good, strlen(good));
	}
	sandboxes_each(dirs, count, &called, &seen);
	cr_expect_eq(called, SANDBOXES_MAX);
	cr_expect_eq(seen.pods, SANDBOXES_MAX);
	cr_expect_eq(seen.beyond, 7);
	snprintf(full, sizeof(full), "rm -r %s", dir);
	cr_expect_eq(system(full), 0);
}
