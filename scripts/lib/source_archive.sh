# The source archive of scripts/package: the files of the repository, and prepared/ (cmake/prepared.cmake).

# The packages of the header-only libraries, whose copyright files come along.
header_packages="libflatbuffers-dev libstb-dev libvulkan-dev libvulkan-volk-dev nlohmann-json3-dev libcli11-dev"

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
  local name tree prepared build package part line
  name=ferry-$(version_of "$source/sdk")-android
  tree=$scratch/$name prepared=$scratch/$name/prepared
  build=${built:-$(generate)}

  mkdir -p "$prepared/licences" "$prepared/sources" "$prepared/generated/sdk/gpu"
  (cd "$source" && git ls-files -z | tar --null --files-from=- -c) | tar -x -C "$tree"
  cp -rL "$build/third_party/include" "$prepared"
  for package in $header_packages; do
    cp "/usr/share/doc/$package/copyright" "$prepared/licences/LICENSE.$package"
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
  archive "$name"
  rm -rf "$tree"
}
