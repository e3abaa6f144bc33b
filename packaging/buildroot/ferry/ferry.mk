################################################################################
#
# ferry, from its source archive, which has all third-party sources and generated files: docs/embedded-linux.md
#
################################################################################

FERRY_VERSION = 0.3.0
FERRY_SOURCE = ferry-$(FERRY_VERSION)-android.tar.gz
FERRY_SITE = $(call qstrip,$(BR2_PACKAGE_FERRY_FOLDER))
FERRY_SITE_METHOD = file
FERRY_LICENSE = Apache-2.0, BSD-3-Clause (XNNPACK), BSD-2-Clause (pthreadpool, cpuinfo), MIT (FXdiv, FP16, stb)
FERRY_LICENSE_FILES = LICENSE NOTICE
FERRY_INSTALL_STAGING = YES

# XNNPACK is built during configure, into this folder.
FERRY_CONF_ENV = XDG_CACHE_HOME=$(@D)/cache
FERRY_CONF_OPTS = \
	-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 \
	-DFERRY_BUILD_EXAMPLES=OFF \
	-DFERRY_GPU=$(if $(BR2_PACKAGE_FERRY_GPU),ON,OFF) \
	-DFERRY_BUILD_CLI=$(if $(BR2_PACKAGE_FERRY_CLI),ON,OFF)

$(eval $(cmake-package))
