// Times a float32 ONNX model with ONNX Runtime (npm: onnxruntime-node) as an application would run it.
//   node ort_bench.mjs MODEL.onnx THREADS RUNS [SIZES [FPS]]      (1x3x224x224: where the file leaves its only input's open)
// FPS runs begin in a second. Prints one JSON line with the fields of `ferry bench --json`. With MODEL.onnx alone: the
// names of its inputs.
import { createRequire } from 'node:module';

const ort = createRequire(process.env.FERRY_PEERS + '/')('onnxruntime-node');
const [, , path, threads = '1', runs, sizes, fps = '0'] = process.argv;
const now = () => Number(process.hrtime.bigint()) / 1e6;

const start = now();
const session = await ort.InferenceSession.create(path, {
  intraOpNumThreads: +threads, interOpNumThreads: 1, graphOptimizationLevel: 'all', executionMode: 'sequential',
  logSeverityLevel: 3,
});
const loaded = now();
if (runs) {
  const feeds = {};
  for (const input of session.inputMetadata) {
    const shape = sizes ? sizes.split('x').map(Number) : input.shape;
    const data = new Float32Array(shape.reduce((a, b) => a * b)).map((_, i) => Math.sin(i * 0.37));
    feeds[input.name] = new ort.Tensor('float32', data, shape);
  }
  const fed = now();
  await session.run(feeds);
  const first = now();
  const runs_ms = [];
  const cpu = process.cpuUsage();
  for (let i = 0; i < +runs; ++i) {
    const before = now();
    await session.run(feeds);
    runs_ms.push(now() - before);
    const rest = 1e3 / fps - (now() - before);
    if (+fps && rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
  }
  const used = process.cpuUsage(cpu);
  const times = [...runs_ms].sort((a, b) => a - b);
  console.log(JSON.stringify({
    load_ms: loaded - start, first_run_ms: first - fed, min_ms: times[0], median_ms: times[times.length >> 1],
    runs_ms, cpu_ms: (used.user + used.system) / 1e3 / runs, peak_rss_mb: process.resourceUsage().maxRSS * 1024 / 1e6,
  }));
} else {
  console.log(JSON.stringify({ inputs: session.inputNames }));
}
