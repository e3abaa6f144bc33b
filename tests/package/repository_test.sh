#!/bin/bash
# A repository of scripts/package --repository: apt accepts it by its key alone, resolves and fetches its packages, and
# the unpacked command runs. A changed index, list of hashes or package is refused, and so is another key. apt works in
# folders of the test and installs nothing.
# repository_test.sh SOURCES PACKAGES SCRATCH
set -euo pipefail
sources=$1 packages=$2 scratch=$3/repository
for tool in apt-get gpg gpgv dpkg-scanpackages; do
  command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
ls "$packages"/*.deb >/dev/null || { echo "skipped: package/archives made no packages"; exit 77; }
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
export GNUPGHOME
GNUPGHOME=$(mktemp -d) # gpg-agent's socket needs a short path
trap 'gpgconf --kill all; rm -rf "$GNUPGHOME"' EXIT
wrong() { echo "$*"; exit 1; }

make_key() { gpg --batch --quiet --passphrase "" --quick-generate-key "$1" ed25519 sign never 2>/dev/null; }
make_key "Ferry's test <test@ferry.invalid>"
make_key "Another test <another@ferry.invalid>"
package=("$sources/scripts/package" "$packages"/*.deb --repository repository)
"${package[@]}" --key test@ferry.invalid >first.log
[[ $(cat first.log) == *"/repository, 3 packages, signed by "* ]] || wrong "$(cat first.log)"
architecture=$(dpkg --print-architecture)
index=dists/stable/main/binary-$architecture/Packages
files=$(cd repository && find . -type f ! -path './pool/*' | sort | paste -sd' ')
[ "$files" = "./dists/stable/InRelease ./dists/stable/Release ./dists/stable/Release.gpg ./$index ./$index.gz\
 ./ferry-archive-keyring.gpg" ] || wrong "the repository has $files"
gpgv --quiet --keyring "$PWD/repository/ferry-archive-keyring.gpg" repository/dists/stable/Release{.gpg,} 2>/dev/null

# apt knows what the system has installed, and no other repository.
cat >apt.conf <<END
Dir::State "$PWD/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$PWD/cache";
Dir::Etc "$PWD/etc";
Dir::Etc::parts "$PWD/etc/apt.conf.d";
APT::Sandbox::User "$(id -un)";
APT::Install-Recommends "false";
Acquire::Languages "none";
Debug::NoLocking "true";
END
export APT_CONFIG=$PWD/apt.conf LC_ALL=C
mkdir -p etc/sources.list.d etc/preferences.d etc/trusted.gpg.d etc/apt.conf.d
update() {  # a repository's folder, the keyring
  rm -rf state cache
  mkdir -p state/lists/partial cache/archives/partial
  echo "deb [signed-by=$PWD/$2] copy:$PWD/$1 stable main" >etc/sources.list
  apt-get update 2>&1
}
update repository repository/ferry-archive-keyring.gpg >update.log || wrong "apt-get update: $(cat update.log)"
[[ $(cat update.log) != *[WE]:* ]] || wrong "apt-get update warns: $(cat update.log)"
apt-get install -y --no-remove --download-only ferry libferry-dev >install.log 2>&1 || wrong "$(cat install.log)"
[ "$(ls cache/archives/*.deb | wc -l)" = 3 ] || wrong "apt fetched $(ls cache/archives)"
for file in cache/archives/*.deb; do dpkg-deb --extract "$file" root; done
version=$(sed -nE 's/^#define FERRY_VERSION_(MAJOR|MINOR|PATCH) //p' "$sources/sdk/include/ferry/ferry.h" | paste -sd.)
said=$(root/usr/bin/ferry --version)
[ "$said" = "ferry $version" ] || wrong "$said"

# What was changed after signing is refused.
refused() {  # words, command...
  if said=$("${@:2}"); then wrong "not refused: ${*:2}: $said"; fi
  [[ $said == *"$1"* ]] || wrong "expected '$1', apt says: $said"
}
changed() {  # file, sed's command
  rm -rf changed
  cp -r repository changed
  sed -i "$2" changed/$1
}
changed $index 's/^Maintainer: ./&X/'
gzip -9nkf changed/$index
refused "Hash Sum mismatch" update changed repository/ferry-archive-keyring.gpg
changed dists/stable/InRelease 's/^Label: Ferry/Label: Fairy/'
refused "BADSIG" update changed repository/ferry-archive-keyring.gpg
gpg --export another@ferry.invalid >another.gpg
refused "NO_PUBKEY" update repository another.gpg
changed "pool/main/f/ferry/libferry-dev_*.deb" 's/debian-binary/debian-banary/'
update changed repository/ferry-archive-keyring.gpg >update.log || wrong "apt-get update: $(cat update.log)"
fetch() { (cd root && apt-get download libferry-dev 2>&1); }
refused "Hash Sum mismatch" fetch

# Packages are added to those that are there; a published file is not replaced.
fails() {  # words, command...
  if said=$("${@:2}" 2>&1); then wrong "not refused: ${*:2}"; fi
  [[ $said == *"$1"* ]] || wrong "expected '$1', it says: $said"
}
build() { dpkg-deb --build --root-owner-group -Zgzip -z1 newer "$1" >/dev/null; }
dpkg-deb --raw-extract "$packages"/libferry-dev_*.deb newer
touch newer/usr/share/doc/libferry-dev
other=libferry-dev_${version}_$architecture.deb newer=libferry-dev_$version+new_$architecture.deb
build "$other"
fails "raise the version" "$sources/scripts/package" "$other" --repository repository --key test@ferry.invalid
sed -i 's/^Version: .*/&+new/' newer/DEBIAN/control
build "$newer"
"${package[@]}" "$newer" --key test@ferry.invalid >second.log
[ "$(grep -c '^Package: libferry-dev$' repository/$index)" = 2 ] || wrong "the older libferry-dev is gone"
fails "gpg has no secret key" "${package[@]}" --key nobody@ferry.invalid
fails "names several keys" "${package[@]}" --key ferry.invalid
rm -rf "$scratch"
