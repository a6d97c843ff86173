# SPDX-License-Identifier: GPL-2.0-only
# The manual. wrb(3) is found under the name of each call that it tells of.

dist_man_MANS += man/wrb.3
if BUILD_ENGINE
dist_man_MANS += man/fio-rdma_batch.7
else
EXTRA_DIST += man/fio-rdma_batch.7
endif

calls = sed -n 's/^[[:space:]]*\(wrb_[a-z_]*\);$$/\1/p' \
	$(srcdir)/lib/libwrb.map
install_hooks += install-aliases
install-aliases: install-man3
	for call in $$($(calls)); do \
		echo '.so man3/wrb.3' >"$(DESTDIR)$(man3dir)/$$call.3" || \
			exit 1; \
	done
uninstall_hooks += uninstall-aliases
uninstall-aliases:
	for call in $$($(calls)); do rm -f "$(DESTDIR)$(man3dir)/$$call.3"; done
