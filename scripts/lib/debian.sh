# The Debian packages of scripts/package.

# The Debian packages that programs or libraries need, in versions that have the symbols.
depends() {  # files...
  local libc other
  if [ "$(dpkg --print-architecture)" = $architecture ]; then
    mkdir -p "$scratch/shlibdeps/debian"
    printf 'Source: ferry\n\nPackage: ferry\nArchitecture: any\n' >"$scratch/shlibdeps/debian/control"
    echo "libferry $abi libferry$abi" >"$scratch/shlibdeps/debian/shlibs.local"
    (cd "$scratch/shlibdeps" && dpkg-shlibdeps -O "-l$tree/lib" "-xlibferry$abi" "$@" 2>log) >"$scratch/depends" ||
      { cat "$scratch/shlibdeps/log" >&2; return 1; }
    sed 's/^shlibs:Depends=//' "$scratch/depends"
    return
  fi
  # Cross-built: the cross-compiler's packages have no symbols files, so only the runtimes are needed.
  other=$("$readelf" -dW "$@" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libm|libstdc\+\+|libgcc_s|ld-linux.*|libferry)\.so' || true)
  [ -z "$other" ] || { echo "package: which package of Debian has $other?" >&2; return 1; }
  libc=$("$readelf" -VW "$@" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
  echo "libc6 (>= ${libc#GLIBC_}), libgcc-s1, libstdc++6 (>= $("$triplet-g++" -dumpversion))"
}

# The symbols that the libraries export, for packages of programs that use them. While the major number is 0, a patch
# release adds none, so this version is right for all.
symbols() {  # libraries...
  local library
  for library; do
    echo "$("$readelf" -dW "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p') libferry$abi #MINVER#"
    echo "* Build-Depends-Package: libferry-dev"
    "$nm" --dynamic --defined-only --format=posix "$library" |
      sed 's/ .*//; s/@@*/@/; /@/!s/$/@Base/; s/.*/ & '"$version/" | sort
  done
}

# A Debian package of $scratch/NAME.
deb() {  # name, section, depends, summary, description, multi-arch
  local root=$scratch/$1 file=$folder/$1_${version}_$architecture.deb documents=$scratch/$1/usr/share/doc/$1
  local compression=(-Zxz --threads-max=1)
  ! $quick || compression=(-Zgzip -z1)
  mkdir -p "$documents" "$root/DEBIAN"
  "$source/scripts/lib/debian_documents.py" copyright "$tree/share/ferry/licenses" "$HOMEPAGE" >"$documents/copyright"
  "$source/scripts/lib/debian_documents.py" changelog "$source/CHANGELOG.md" "$version" "$MAINTAINER" |
    gzip -9n >"$documents/changelog.gz"
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
  cat >"$root/DEBIAN/control" <<END
Package: $1
Source: ferry
Version: $version
Architecture: $architecture
${6:+Multi-Arch: $6
}Maintainer: $MAINTAINER
Installed-Size: $(find "$root/usr" -type f -printf '%s\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }')
Depends: $3
Section: $2
Priority: optional
Homepage: $HOMEPAGE
Description: $4
$(fold -s -w 78 <<<"$5" | sed 's/^/ /; s/ *$//')
END
  settle "$root"
  dpkg-deb --build --root-owner-group "${compression[@]}" "$root" "$file.part" >/dev/null
  finish "$file"
  debs+=("$file")
}
