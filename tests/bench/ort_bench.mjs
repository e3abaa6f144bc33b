// Times a float32 ONNX model of one input with ONNX Runtime (npm: onnxruntime-node) as an application would run it.
//   node ort_bench.mjs MODEL.onnx THREADS RUNS [SIZES]      (1x3x224x224: where the file leaves them open)
// Prints one JSON line with the fields of `ferry bench --json`. With MODEL.onnx alone: the names of its inputs.
import { createRequire } from 'node:module';

const ort = createRequire(process.env.FERRY_PEERS + '/')('onnxruntime-node');
const [, , path, threads = '1', runs, sizes] = process.argv;
const now = () => Number(process.hrtime.bigint()) / 1e6;

const start = now();
const session = await ort.InferenceSession.create(path, {
  intraOpNumThreads: +threads, interOpNumThreads: 1, graphOptimizationLevel: 'all', executionMode: 'sequential',
  logSeverityLevel: 3,
});
const loaded = now();
if (runs) {
  const shape = sizes ? sizes.split('x').map(Number) : session.inputMetadata[0].shape;
  const data = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i * 0.37));
  const feeds = { [session.inputNames[0]]: new ort.Tensor('float32', data, shape) };
  await session.run(feeds);
  const first = now();
  const times = [];
  for (let i = 0; i < +runs; ++i) {
    const before = now();
    await session.run(feeds);
    times.push(now() - before);
  }
  times.sort((a, b) => a - b);
  console.log(JSON.stringify({
    load_ms: loaded - start, first_run_ms: first - loaded, min_ms: times[0], median_ms: times[times.length >> 1],
    peak_rss_mb: process.resourceUsage().maxRSS * 1024 / 1e6,
  }));
} else {
  console.log(JSON.stringify({ inputs: session.inputNames }));
}
