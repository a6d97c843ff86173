# SPDX-License-Identifier: GPL-2.0-only
# The engine, a module for fio.

# What includes fio's headers, and what must not. fio's directory comes first
# and both count as system's: names in fio's tree must win over ours there, and
# its headers are not clean of warnings.
noinst_LTLIBRARIES += engine/libengine-fio.la engine/libengine.la
engine_libengine_fio_la_SOURCES = \
	engine/conf.h \
	engine/engine.c \
	engine/env.h \
	engine/fio_api.h \
	engine/initiator.c \
	engine/io_map.c \
	engine/io_map.h \
	engine/options.c \
	engine/options.def \
	engine/options.h \
	engine/role.h \
	engine/target.c
engine_libengine_fio_la_CPPFLAGS = -D_GNU_SOURCE \
	-DENGINE_FIO_VERSION='"$(FIO_VERSION)"' \
	-include $(FIO_DIR)/config-host.h \
	-isystem $(FIO_DIR) -isystem $(srcdir)/lib
engine_libengine_fio_la_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS) \
	-fvisibility=hidden

engine_libengine_la_SOURCES = \
	engine/allow.c \
	engine/allow.h \
	engine/caps.c \
	engine/caps.h \
	engine/cm.c \
	engine/cm.h \
	engine/export.c \
	engine/export.h \
	engine/gate.c \
	engine/gate.h \
	engine/handshake.c \
	engine/handshake.h \
	engine/quiet.c \
	engine/quiet.h \
	engine/rdma_device.c \
	engine/rdma_device.h \
	engine/reap.c \
	engine/reap.h \
	engine/region_mem.c \
	engine/region_mem.h \
	engine/report.c \
	engine/report.h \
	engine/serve.c engine/serve.h engine/server.h \
	engine/serve_client.c engine/serve_listen.c engine/serve_request.c \
	engine/sync.c \
	engine/sync.h \
	engine/token.c \
	engine/token.h \
	engine/transport.h \
	engine/transport_memory.c \
	engine/rdma.h engine/rdma_lane.c engine/rdma_refusal.c \
	engine/transport_rdma.c
engine_libengine_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DENGINE_VERSION='"$(PACKAGE_VERSION)"'
engine_libengine_la_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS) $(RDMACM_CFLAGS) \
	$(CRYPTO_CFLAGS) -fvisibility=hidden

# Where a fio with dynamic engines looks for ioengine=rdma_batch.
fiodir = $(libdir)/fio
fio_LTLIBRARIES = engine/fio-rdma_batch.la
engine_fio_rdma_batch_la_SOURCES =
engine_fio_rdma_batch_la_LIBADD = \
	engine/libengine-fio.la \
	engine/libengine.la \
	lib/libmemdev.la \
	lib/libwrb-core.la \
	$(RDMACM_LIBS) $(IBVERBS_LIBS) $(CRYPTO_LIBS)
# now: a symbol that is missing shows when the engine is loaded, not at the
# first call. nodelete: fio closes the module while threads may still run.
engine_fio_rdma_batch_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version \
	-shared -export-symbols-regex '^get_ioengine$$' \
	-Wl,-z,now -Wl,-z,nodelete

all-local: engine/fio-rdma_batch.so
engine/fio-rdma_batch.so: engine/fio-rdma_batch.la
	$(AM_V_GEN)$(LN_S) -f .libs/fio-rdma_batch.so $@
CLEANFILES += engine/fio-rdma_batch.so

# The module has no use for libtool's note beside it. The scripts in jobs/ find
# the engine by the link.
install_hooks += install-engine
install-engine: install-fioLTLIBRARIES
	rm -f $(DESTDIR)$(fiodir)/fio-rdma_batch.la
	$(MKDIR_P) $(DESTDIR)$(pkgdatadir)
	ln -srf $(DESTDIR)$(fiodir)/fio-rdma_batch.so $(DESTDIR)$(pkgdatadir)/
uninstall_hooks += uninstall-engine
uninstall-engine:
	rm -f $(DESTDIR)$(fiodir)/fio-rdma_batch.so \
		$(DESTDIR)$(pkgdatadir)/fio-rdma_batch.so
own_dirs += $(fiodir)
