// As interpret.cjs, in LiteRT's interpreter (npm: @litertjs/core, 2.5.3), which has MediaPipe's custom operators: files
// with one float32 input. Outputs have no names.
const fs = require('fs');
const os = require('os');
const path = require('path');
globalThis.self = globalThis;
const wasm = path.join(process.env.FERRY_PEERS, 'node_modules/@litertjs/core/wasm/litert_wasm_compat_internal');
// The package declares ES modules, but this file of it is none.
const copy = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'litert-')), 'litert.cjs');
fs.copyFileSync(`${wasm}.js`, copy);

async function interpret(m, folder) {
  const environment = m.LiteRtEnvironment.create(null);
  const file = fs.readFileSync(path.join(folder, 'model.tflite'));
  const at = m._malloc(file.length);
  m.HEAPU8.set(file, at);
  const model = m.loadModel(environment, at, file.length);
  const compiled = await m.compileModel(environment, model, {
    accelerator: 'wasm', environment: { liteRtEnvironment: environment }, cpuOptions: { numThreads: 1 },
  });
  const type = model.getInputTensorType(0, 0);
  const input = m.LiteRtTensorBuffer.createManaged(
    environment, m.LiteRtTensorBufferType.HOST_MEMORY, type, type.bytes());
  m.HEAPU8.set(fs.readFileSync(path.join(folder, 'input0.bin')), input.lock(m.LiteRtTensorBufferLockMode.WRITE));
  input.unlock();
  (await compiled.run(0, [input])).forEach((output, i) => {
    const from = output.lock(m.LiteRtTensorBufferLockMode.READ);
    fs.writeFileSync(path.join(folder, `output${i}.bin`), m.HEAPU8.slice(from, from + output.packedSize()));
    output.unlock();
  });
}

require(copy)({ wasmBinary: fs.readFileSync(`${wasm}.wasm`) }).then(async (m) => {
  for (const folder of process.argv.slice(2)) await interpret(m, folder);
});
