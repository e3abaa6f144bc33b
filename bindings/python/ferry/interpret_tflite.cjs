// Runs .tflite files in TensorFlow Lite's own interpreter (npm: @tensorflow/tfjs-tflite, 0.0.1-alpha.10: of 2023, with
// XNNPACK, as WebAssembly).
//   FERRY_PEERS=DIR node interpret_tflite.cjs FOLDER...
// Reads FOLDER/model.tflite and FOLDER/inputN.bin, raw and little-endian, and writes FOLDER/outputN.bin and
// FOLDER/outputs.json with names, types and shapes, or with the error.
const fs = require('fs');
const path = require('path');
globalThis.self = globalThis;
const wasm = path.join(process.env.FERRY_PEERS, 'node_modules/@tensorflow/tfjs-tflite/wasm');
const list = (vector) => Array.from({ length: vector.size() }, (_, i) => vector.get(i));

function interpret(m, folder) {
  const file = fs.readFileSync(path.join(folder, 'model.tflite'));
  const at = m._malloc(file.length);
  m.HEAPU8.set(file, at);
  const made = m.TFLiteWebModelRunner.CreateFromBufferAndOptions(
    at, file.length, { numThreads: 1, enableProfiling: false, maxProfilingBufferEntries: 16 });
  if (!made.ok()) throw Error(made.errorMessage());
  const runner = made.value();
  list(runner.GetInputs()).forEach((tensor, i) => {
    const data = tensor.data();
    const raw = fs.readFileSync(path.join(folder, `input${i}.bin`));
    if (raw.length !== data.byteLength) throw Error(`input ${i} has ${data.byteLength} bytes, not ${raw.length}`);
    new Uint8Array(data.buffer, data.byteOffset, data.byteLength).set(raw);
  });
  if (!runner.Infer()) throw Error('the interpreter failed');
  return list(runner.GetOutputs()).map((tensor, i) => {
    const data = tensor.data();
    fs.writeFileSync(path.join(folder, `output${i}.bin`), Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    return { name: tensor.name, type: tensor.dataType, shape: String(tensor.shape).split(',').map(Number) };
  });
}

require(path.join(wasm, 'tflite_web_api_cc_simd.js'))({
  wasmBinary: fs.readFileSync(path.join(wasm, 'tflite_web_api_cc_simd.wasm')),
}).then((m) => {
  for (const folder of process.argv.slice(2)) {
    let outputs;
    try {
      outputs = interpret(m, folder);
    } catch (error) {
      outputs = { error: String(error.message ?? error) };
    }
    fs.writeFileSync(path.join(folder, 'outputs.json'), JSON.stringify(outputs));
  }
});
