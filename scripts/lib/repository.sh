# The repository of scripts/package: pool/ with Debian packages, dists/stable/ with their index, signed, and
# ferry-archive-keyring.gpg, the public key. Versions that were added before stay installable.

# Sets `fingerprint`, the key that --key names; ends the script if a repository cannot be made.
repository_check() {
  local tool
  [ -n "$repository" ] || die "--key is for --repository"
  [ -n "$key" ] || die "--repository needs --key: which key of gpg signs it? (gpg --list-secret-keys shows yours)"
  [ ${#debs[@]} -gt 0 ] || [[ " ${targets[*]} " =~ " x86-64 "|" arm64 " ]] ||
    die "--repository holds Debian packages; android has none"
  for tool in gpg dpkg-scanpackages dpkg-shlibdeps; do
    command -v $tool >/dev/null || die "--repository needs $tool (Debian's packages gnupg, dpkg-dev)"
  done
  fingerprint=$(gpg --batch --with-colons --list-secret-keys -- "$key" 2>/dev/null |
    awk -F: '$1 == "sec" { key = 1 } $1 == "fpr" && key { print $10; key = 0 }') || true
  case $fingerprint in
    "") die "--key $key: gpg has no secret key of that name (gpg --list-secret-keys shows yours)" ;;
    *$'\n'*) die "--key $key names several keys: use the fingerprint of one: ${fingerprint//$'\n'/, }" ;;
  esac
}

# The index of everything in pool/, into a new folder.
repository_index() {  # folder of the repository, folder of the index
  local architecture architectures file index
  architectures=$(find "$1/pool" -name '*.deb' | sed 's/.*_//; s/\.deb$//' | sort -u | paste -sd' ')
  for architecture in $architectures; do
    index=$2/main/binary-$architecture
    mkdir -p "$index"
    (cd "$1" && dpkg-scanpackages -m --arch "$architecture" pool) >"$index/Packages" 2>"$scratch/scan.log" ||
      { cat "$scratch/scan.log" >&2; return 1; }
    gzip -9nk "$index/Packages"
  done
  {
    cat <<END
Origin: Ferry
Label: Ferry
Suite: stable
Codename: stable
Date: $(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S UTC')
Architectures: $architectures
Components: main
Description: libferry and the ferry command
SHA256:
END
    (cd "$2" && find main -type f | sort) | while read -r file; do
      echo " $(sha256sum <"$2/$file" | cut -d' ' -f1) $(stat -c %s "$2/$file") $file"
    done
  } >"$2/Release"
}

repository_add() {  # folder, packages...
  local root=$1 pool part file to sign=(gpg --batch --yes --local-user "$fingerprint" --digest-algo SHA256)
  pool=$root/pool/main/f/ferry part=$root/dists.part
  mkdir -p "$pool"
  root=$(realpath "$root")
  for file in "${@:2}"; do
    to=$pool/$(basename "$file")
    [ ! -e "$to" ] || cmp -s "$file" "$to" ||
      die "$to differs from $file, but apt updates no version that is installed: raise the version, or remove that file"
  done
  for file in "${@:2}"; do cp "$file" "$pool/"; done
  chmod 644 "$pool"/*.deb
  rm -rf "$part"
  repository_index "$root" "$part/stable"
  "${sign[@]}" --clearsign -o "$part/stable/InRelease" "$part/stable/Release" &&
    "${sign[@]}" --armor --detach-sign -o "$part/stable/Release.gpg" "$part/stable/Release" ||
    die "gpg could not sign with $fingerprint"
  gpg --batch --export-options export-minimal --export "$fingerprint" >"$root/ferry-archive-keyring.gpg.part"
  mv "$root/ferry-archive-keyring.gpg.part" "$root/ferry-archive-keyring.gpg"
  rm -rf "$root/dists"
  mv "$part" "$root/dists"
  echo "$root, $(find "$pool" -name '*.deb' | wc -l) packages, signed by $fingerprint"
}
