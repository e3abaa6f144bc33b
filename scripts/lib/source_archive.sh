# The source archive of scripts/package: the files of the repository, and prepared/ (cmake/prepared.cmake).

# Header-only libraries: name in /usr/include, package whose copyright file comes along.
source_headers="flatbuffers:libflatbuffers-dev stb:libstb-dev vulkan:libvulkan-dev vk_video:libvulkan-dev
  volk.h:libvulkan-volk-dev volk.c:libvulkan-volk-dev nlohmann:nlohmann-json3-dev CLI:libcli11-dev"

# Builds what is generated, and the command that gets the example's model. Prints the build folder.
generate() {
  local build=$folder/build/generated
  "$source/scripts/setup" >&2
  mkdir -p "$build"
  { cmake -S "$source" --preset release -B "$build" -Wno-dev -DFERRY_BUILD_TESTS=OFF -DFERRY_BUILD_EXAMPLES=OFF &&
    cmake --build "$build" -j "$(nproc)" --target ferry_schema_headers ferry_schema_objects_headers ferry_shaders ferry_cli; } \
    >"$build/build.log" 2>&1 || { tail -n 20 "$build/build.log" >&2; die "what is generated could not be built ($build/build.log)"; }
  echo "$build"
}

source_archive() {
  local version name tree prepared build entry part line
  number() { sed -n "s/^#define FERRY_VERSION_$1 //p" "$source/sdk/include/ferry/ferry.h"; }
  version=$(number MAJOR).$(number MINOR).$(number PATCH)
  name=ferry-$version-android
  tree=$scratch/$name prepared=$scratch/$name/prepared
  build=${built:-$(generate)}

  mkdir -p "$prepared/include" "$prepared/licences" "$prepared/sources" "$prepared/generated/sdk/gpu"
  (cd "$source" && git ls-files -z | tar --null --files-from=- -c) | tar -x -C "$tree"
  for entry in $source_headers; do
    cp -rL "/usr/include/${entry%:*}" "$prepared/include"
    cp "/usr/share/doc/${entry#*:}/copyright" "$prepared/licences/LICENSE.${entry#*:}"
  done
  find "$prepared/include/vulkan" -name '*.hpp' -delete
  for part in schema schema_objects; do cp -r "$build/generated/$part" "$prepared/generated"; done
  cp "$build/generated/generated_shaders.inc" "$prepared/generated"
  cp "$build/generated/sdk/gpu/kernels.h" "$prepared/generated/sdk/gpu"
  "$build/bin/ferry" get Linzaer/version-RFB-320 --certify "$source/examples/android-camera/certificate/ultraface_rfb_320" \
    -o "$prepared/faces.ferry" >&2 || echo "package: note: without the example's model, which could not be had" >&2
  "$source/scripts/fetch-sources" >"$scratch/sources"
  while IFS= read -r line; do
    tar -c -C "$(dirname "${line#*=}")" --exclude=.ferry-complete --exclude='*/test' --exclude='*/bench' --exclude='*/doc' \
      "$(basename "${line#*=}")" | tar -x -C "$prepared/sources"
  done <"$scratch/sources"

  find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  tar --sort=name --owner=0 --group=0 --numeric-owner --format=gnu -C "$scratch" -c "$name" |
    gzip -n "$($quick && echo -1 || echo -9)" >"$folder/$name.tar.gz.part"
  finish "$folder/$name.tar.gz"
  rm -rf "$tree"
}
