// Runs ONNX models with ONNX Runtime (npm: onnxruntime-node), without its optimizer, one after the other.
//   node ort_serve.mjs
// Each line of the input is a JSON object {model, inputs: [{name, type, dims, data}]}; `model` and `data` are base64,
// data row-major and little-endian. For each, a line {outputs: [{name, type, dims, data}]} or {error} comes out.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const ort = createRequire(process.env.FERRY_PEERS + '/')('onnxruntime-node');
const kinds = {
  float32: Float32Array, float64: Float64Array, float16: Uint16Array, bool: Uint8Array, int8: Int8Array,
  uint8: Uint8Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array,
};
const options = { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4, graphOptimizationLevel: 'disabled' };
for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const job = JSON.parse(line);
    const session = await ort.InferenceSession.create(Buffer.from(job.model, 'base64'), options);
    const feeds = {};
    for (const { name, type, dims, data } of job.inputs) {
      const bytes = Buffer.from(data, 'base64');
      feeds[name] = new ort.Tensor(type, new kinds[type](bytes.buffer.slice(bytes.byteOffset,
                                                                            bytes.byteOffset + bytes.length)), dims);
    }
    const outputs = [];
    for (const [name, tensor] of Object.entries(await session.run(feeds))) {
      const { buffer, byteOffset, byteLength } = tensor.data;
      outputs.push({ name, type: tensor.type, dims: tensor.dims,
                     data: Buffer.from(buffer, byteOffset, byteLength).toString('base64') });
    }
    await session.release();
    answer = { outputs };
  } catch (error) {
    answer = { error: String(error.message ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
