/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_KFUNCS_BPF_H
#define SLUICE_KFUNCS_BPF_H
/*
 * The kernel's functions and types for a qdisc in BPF (Linux 6.16 and newer), declared by hand: vmlinux.h is from a
 * kernel without them, and libbpf 1.1 does not know them.
 */
#include "lib/base.bpf.h"

#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP 1
#define ENOMEM 12

/* The kernel identifies these by name and size. */
struct bpf_rb_root {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_rb_node {
	__u64 __opaque[4];
} __attribute__((aligned(8)));

struct bpf_list_head {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_node {
	__u64 __opaque[3];
} __attribute__((aligned(8)));

struct bpf_spin_lock {
	__u32 val;
};

struct bpf_refcount {
	__u32 __opaque[1];
} __attribute__((aligned(4)));

struct bpf_iter_num {
	__u64 __opaque[1];
} __attribute__((aligned(8)));

/* Where enqueue puts packets that it drops. */
struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
};

/* The contents of a tree or a list: objects of that type, linked by that member. */
#define CONTAINS(type, member) __attribute__((btf_decl_tag("contains:" #type ":" #member)))

extern void *bpf_obj_new_impl(__u64 local_type_id, void *meta) __ksym __weak;
extern void bpf_obj_drop_impl(void *obj, void *meta) __ksym __weak;
extern void *bpf_refcount_acquire_impl(void *obj, void *meta) __ksym __weak;
extern int bpf_list_push_front_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta,
				    __u64 off) __ksym __weak;
extern int bpf_list_push_back_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta,
				   __u64 off) __ksym __weak;
extern struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head) __ksym __weak;
extern struct bpf_list_node *bpf_list_front(struct bpf_list_head *head) __ksym __weak;
extern int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node,
			       bool(less)(struct bpf_rb_node *a, const struct bpf_rb_node *b), void *meta,
			       __u64 off) __ksym __weak;
extern struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root) __ksym __weak;
extern struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node) __ksym __weak;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym __weak;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym __weak;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym __weak;
extern __u32 bpf_skb_get_hash(struct sk_buff *skb) __ksym __weak;
extern void bpf_kfree_skb(struct sk_buff *skb) __ksym __weak;
extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym __weak;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 delta_ns) __ksym __weak;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym __weak;

/*
 * Keeps clang from making one call out of two. The verifier writes an object's layout (where its reference count is) into
 * the call, once: of two types that come to the same call one would get the other's.
 */
#define object_apart() asm volatile("" : : "i"(__COUNTER__))

#define object_new(type) ((type *)bpf_obj_new_impl(bpf_core_type_id_local(type), NULL))
#define object_drop(object)                      \
	do {                                     \
		object_apart();                  \
		bpf_obj_drop_impl(object, NULL); \
		object_apart();                  \
	} while (0)
#define object_share(object)                                                       \
	({                                                                         \
		typeof(object) _shared;                                            \
		object_apart();                                                    \
		_shared = (typeof(object))bpf_refcount_acquire_impl(object, NULL); \
		object_apart();                                                    \
		_shared;                                                           \
	})
/* The object of a node. clang assumes that it is not NULL: on a check's NULL path the verifier would see a leak. */
#define object_of(node, type, member)                                                        \
	({                                                                                   \
		type *_object = (type *)((void *)(node) - __builtin_offsetof(type, member)); \
		__builtin_assume(_object != NULL);                                           \
		_object;                                                                     \
	})

/* The verifier wants a lock around each access to a list. lock, head, node: addresses; list_pop() may return NULL. */
#define list_push_back(lock, head, node)                      \
	do {                                                  \
		bpf_spin_lock(lock);                          \
		object_apart();                               \
		bpf_list_push_back_impl(head, node, NULL, 0); \
		object_apart();                               \
		bpf_spin_unlock(lock);                        \
	} while (0)
#define list_push_front(lock, head, node)                      \
	do {                                                   \
		bpf_spin_lock(lock);                           \
		object_apart();                                \
		bpf_list_push_front_impl(head, node, NULL, 0); \
		object_apart();                                \
		bpf_spin_unlock(lock);                         \
	} while (0)
#define list_pop(lock, head)                      \
	({                                        \
		struct bpf_list_node *_node;      \
		bpf_spin_lock(lock);              \
		_node = bpf_list_pop_front(head); \
		bpf_spin_unlock(lock);            \
		_node;                            \
	})

#endif
