################################################################################
#
# ferry: not built where it was written; docs/embedded-linux.md says what was
#
################################################################################

FERRY_VERSION = 0.3.0
FERRY_LICENSE = Apache-2.0, BSD-3-Clause (XNNPACK), BSD-2-Clause (pthreadpool, cpuinfo), MIT (FXdiv, FP16, stb)
FERRY_LICENSE_FILES = LICENSE NOTICE
FERRY_SITE = $(call qstrip,$(BR2_PACKAGE_FERRY_CHECKOUT))
FERRY_SITE_METHOD = local
FERRY_INSTALL_STAGING = YES
# flatc runs on the host.
FERRY_DEPENDENCIES = host-flatbuffers host-python3 flatbuffers

# The same as in scripts/fetch-sources, and stb.
FERRY_XNNPACK = 4ea82e595b36106653175dcb04b2aa532660d0d8
FERRY_PTHREADPOOL = 560c60d342a76076f0557a3946924c6478470044
FERRY_CPUINFO = 877328f188a3c7d1fa855871a278eb48d530c4c0
FERRY_FXDIV = b408327ac2a15ec3e43352421954f5b1967701d1
FERRY_FP16 = 4dfe081cf6bcd15db339cf2680b9281b8451eeb3
FERRY_STB = 8b5f1f37b5b75829fc72d38e7b5d4bcbf8a26d55
FERRY_EXTRA_DOWNLOADS = \
	https://github.com/google/XNNPACK/archive/$(FERRY_XNNPACK).tar.gz \
	https://github.com/Maratyszcza/pthreadpool/archive/$(FERRY_PTHREADPOOL).tar.gz \
	https://github.com/pytorch/cpuinfo/archive/$(FERRY_CPUINFO).tar.gz \
	https://github.com/Maratyszcza/FXdiv/archive/$(FERRY_FXDIV).tar.gz \
	https://github.com/Maratyszcza/FP16/archive/$(FERRY_FP16).tar.gz \
	https://github.com/nothings/stb/archive/$(FERRY_STB).tar.gz

# XNNPACK is built during configure, from sources unpacked to the folder of scripts/fetch-sources.
define FERRY_UNPACK
	mkdir -p $(1)
	$(TAR) --strip-components=1 -C $(1) -xf $(FERRY_DL_DIR)/$(2).tar.gz
	touch $(1)/.ferry-complete
endef
define FERRY_UNPACK_SOURCES
	$(call FERRY_UNPACK,$(@D)/cache/ferry/sources/xnnpack-4ea82e5,$(FERRY_XNNPACK))
	$(call FERRY_UNPACK,$(@D)/cache/ferry/sources/pthreadpool-560c60d,$(FERRY_PTHREADPOOL))
	$(call FERRY_UNPACK,$(@D)/cache/ferry/sources/cpuinfo-877328f,$(FERRY_CPUINFO))
	$(call FERRY_UNPACK,$(@D)/cache/ferry/sources/fxdiv-b408327,$(FERRY_FXDIV))
	$(call FERRY_UNPACK,$(@D)/cache/ferry/sources/fp16-4dfe081,$(FERRY_FP16))
	$(call FERRY_UNPACK,$(@D)/headers/stb,$(FERRY_STB))
	for name in flatbuffers nlohmann CLI; do ln -sfn $(STAGING_DIR)/usr/include/$$name $(@D)/headers/$$name; done
endef
FERRY_PRE_CONFIGURE_HOOKS += FERRY_UNPACK_SOURCES
FERRY_CONF_ENV = XDG_CACHE_HOME=$(@D)/cache

FERRY_CONF_OPTS = \
	-DFERRY_BUILD_CONVERTER=OFF -DFERRY_BUILD_TESTS=OFF -DFERRY_BUILD_EXAMPLES=OFF -DFERRY_GPU=OFF \
	-DFERRY_HEADER_ROOT=$(@D)/headers -DFERRY_FLATC=$(HOST_DIR)/bin/flatc

ifeq ($(BR2_PACKAGE_FERRY_CLI),y)
FERRY_DEPENDENCIES += cli11 json-for-modern-cpp
FERRY_CONF_OPTS += -DFERRY_BUILD_CLI=ON
else
FERRY_CONF_OPTS += -DFERRY_BUILD_CLI=OFF
endif

$(eval $(cmake-package))
