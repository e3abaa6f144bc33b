# The maintainer and the home page of Debian packages and wheels: scripts/package sources these two lines, and
# bindings/python/build_wheel.py reads them. Both are placeholders: the project has no public page, and the domain
# .invalid is reserved. Set them before packages are published. Gradle's -Pferry.home names the page in a Maven POM.
MAINTAINER="The Ferry authors <authors@ferry.invalid>"
HOMEPAGE="https://ferry.invalid"
