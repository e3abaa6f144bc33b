// Runs ONNX models with ONNX Runtime (npm: onnxruntime-node), without its optimizer, and writes what comes out.
//   node ort_outputs.mjs JOBS.json
// JOBS.json: a list of {model, folder, inputs: [{name, type, dims}]}. Reads FOLDER/NAME.bin for each input, row-major
// and little-endian, and writes FOLDER/NAME.bin for each output and FOLDER/outputs.json with names, types and
// dimensions. A job may have `optimized`, a file that ONNX Runtime writes its optimized model to, and `level`, its
// optimization level.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const ort = createRequire(process.env.FERRY_PEERS + '/')('onnxruntime-node');
const kinds = {
  float32: Float32Array, float64: Float64Array, float16: Uint16Array, bool: Uint8Array, int8: Int8Array,
  uint8: Uint8Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array,
};
for (const job of JSON.parse(readFileSync(process.argv[2]))) {
  const options = { intraOpNumThreads: 1, logSeverityLevel: 3, graphOptimizationLevel: job.level ?? 'disabled' };
  if (job.optimized) options.optimizedModelFilePath = job.optimized;
  try {
    const session = await ort.InferenceSession.create(job.model, options);
    const feeds = {};
    for (const { name, type, dims } of job.inputs) {
      const bytes = readFileSync(join(job.folder, name + '.bin'));
      const data = new kinds[type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
      feeds[name] = new ort.Tensor(type, data, dims);
    }
    const results = await session.run(feeds);
    const outputs = [];
    for (const [name, tensor] of Object.entries(results)) {
      const { buffer, byteOffset, byteLength } = tensor.data;
      writeFileSync(join(job.folder, name + '.bin'), Buffer.from(buffer, byteOffset, byteLength));
      outputs.push({ name, type: tensor.type, dims: tensor.dims });
    }
    writeFileSync(join(job.folder, 'outputs.json'), JSON.stringify(outputs));
  } catch (error) {
    writeFileSync(join(job.folder, 'outputs.json'), JSON.stringify({ error: String(error.message ?? error) }));
  }
}
