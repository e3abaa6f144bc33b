// The same as latencies.cc with ONNX Runtime (npm: onnxruntime-node).
//   node ort_latencies.mjs MODEL.onnx THREADS RUNS FRAME_MS
import { createRequire } from 'node:module';

const ort = createRequire(process.env.FERRY_PEERS + '/')('onnxruntime-node');
const [, , path, threads, runs, frame] = process.argv;
const now = () => Number(process.hrtime.bigint()) / 1e6;

const start = now();
const session = await ort.InferenceSession.create(path, {
  intraOpNumThreads: +threads, interOpNumThreads: 1, graphOptimizationLevel: 'all', executionMode: 'sequential',
  logSeverityLevel: 3,
});
const created = now();
const shape = session.inputMetadata[0].shape;
const data = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i * 0.37));
const feeds = { [session.inputNames[0]]: new ort.Tensor('float32', data, shape) };
const before = now();
await session.run(feeds);
const first = now();
const times = [];
const cpu = process.cpuUsage();
for (let i = 0; i < +runs; ++i) {
  const begin = now();
  await session.run(feeds);
  times.push(now() - begin);
  const rest = +frame - (now() - begin);
  if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
}
const used = process.cpuUsage(cpu);
console.log(JSON.stringify({ create_ms: created - start, first_ms: first - before,
                             cpu_ms: (used.user + used.system) / 1e3 / runs, runs_ms: times }));
