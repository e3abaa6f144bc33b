// Runs an ONNX model once with ONNX Runtime (npm: onnxruntime-node) and writes what comes out.
//   node ort_run.mjs MODEL.onnx INPUT=SIZES ... OUT_DIR      (x=1x3x48x320)
// Reads OUT_DIR/INPUT.f32 for each input and writes OUT_DIR/OUTPUT.f32: float32, row-major. Prints the outputs' names and
// sizes as JSON.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const ort = createRequire(process.env.FERRY_PEERS + '/')('onnxruntime-node');
const words = process.argv.slice(2);
const [model, folder, inputs] = [words[0], words[words.length - 1], words.slice(1, -1)];
const session = await ort.InferenceSession.create(model, { intraOpNumThreads: 1, logSeverityLevel: 3 });
const feeds = {};
for (const input of inputs) {
  const [name, sizes] = input.split('=');
  const bytes = readFileSync(join(folder, name + '.f32'));
  const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  feeds[name] = new ort.Tensor('float32', values, sizes.split('x').map(Number));
}
const results = await session.run(feeds);
const shapes = {};
for (const [name, tensor] of Object.entries(results)) {
  const data = tensor.type === 'float32' ? tensor.data : Float32Array.from(tensor.data, Number);
  writeFileSync(join(folder, name + '.f32'), Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  shapes[name] = tensor.dims;
}
console.log(JSON.stringify(shapes));
