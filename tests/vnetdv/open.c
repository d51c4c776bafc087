// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests vnetdv_open() without vnet's provider, with an older one, and with the current one. Also
 * tests the device of another provider.
 *
 *	open STUB OLD-STUB STUB-WITHOUT-QP
 */
#include <stdio.h>
#include <stdlib.h>

#include <infiniband/vnetdv.h>

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* vnetdv_open() must fail, and set all operations to NULL. */
static void refused(void)
{
	static const struct vnetdv_ops none;
	struct vnetdv_ops ops;
	struct ibv_context context;

	memset(&ops, 0xff, sizeof(ops));
	CHECK(vnetdv_open(&context, &ops) == ENOTSUP);
	CHECK(!memcmp(&ops, &none, sizeof(ops)));
}

static void *load(const char *path)
{
	void *stub = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!stub)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(stub);
	return stub;
}

int main(int argc, char **argv)
{
	struct ibv_context context;
	struct vnetdv_ops ops;
	uint64_t *flags;
	void *stub;
	int *result;

	CHECK(argc == 4);
	refused();

	stub = load(argv[2]);
	*(uint64_t *)dlsym(stub, "stub_flags") = VNETDV_CONTEXT_IMM64;
	refused();
	CHECK(!dlclose(stub));
	/* The failed vnetdv_open() must have closed the library. */
	CHECK(!dlopen(VNETDV_PROVIDER, RTLD_NOLOAD | RTLD_NOW));

	/* A provider without the newest functions. */
	stub = load(argv[3]);
	*(uint64_t *)dlsym(stub, "stub_flags") =
		VNETDV_CONTEXT_IMM64 | VNETDV_CONTEXT_RETURN_TO_SENDER | VNETDV_CONTEXT_FLUSH;
	CHECK(!vnetdv_open(&context, &ops) && ops.poll_cq && !ops.create_qp && !ops.wr_flush);
	/* References: one of load(), and one of vnetdv_open(). */
	CHECK(!dlclose(stub) && !dlclose(stub));

	stub = load(argv[1]);
	flags = dlsym(stub, "stub_flags");
	result = dlsym(stub, "stub_result");
	CHECK(flags && result);
	*result = ENOTSUP;
	*flags = VNETDV_CONTEXT_IMM64;
	refused();
	*result = 0;
	*flags = 0;
	refused();
	*flags = VNETDV_CONTEXT_IMM64 | 1u << 31;
	CHECK(!vnetdv_open(&context, &ops) && !ops.create_qp && !ops.wr_flush);
	CHECK(!dlclose(stub));
	*flags |= VNETDV_CONTEXT_FLUSH;
	CHECK(!vnetdv_open(&context, &ops) && !ops.create_qp && ops.wr_flush);
	CHECK(!dlclose(stub));
	*flags |= VNETDV_CONTEXT_RETURN_TO_SENDER;
	CHECK(!vnetdv_open(&context, &ops));
	CHECK((void *)ops.wr_flush == dlsym(stub, "vnetdv_wr_flush"));
	CHECK((void *)ops.create_qp == dlsym(stub, "vnetdv_create_qp"));
	CHECK((void *)ops.query_context == dlsym(stub, "vnetdv_query_context"));
	CHECK((void *)ops.wr_send_imm64 == dlsym(stub, "vnetdv_wr_send_imm64"));
	CHECK((void *)ops.wr_rdma_write_imm64 == dlsym(stub, "vnetdv_wr_rdma_write_imm64"));
	CHECK((void *)ops.post_send_imm64 == dlsym(stub, "vnetdv_post_send_imm64"));
	CHECK((void *)ops.wc_read_imm64 == dlsym(stub, "vnetdv_wc_read_imm64"));
	CHECK((void *)ops.poll_cq == dlsym(stub, "vnetdv_poll_cq"));
	CHECK(!dlclose(stub));
	/* vnetdv_open() keeps the library loaded. */
	CHECK(!ops.query_context(&context, &(struct vnetdv_context){ 0 },
				 sizeof(struct vnetdv_context)));
	return 0;
}
