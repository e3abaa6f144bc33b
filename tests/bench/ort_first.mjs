// One start of an app on ONNX Runtime, for cold_start: as cold_start.cc does on ferry.
//   node ort_first.mjs MODEL.onnx THREADS RUNS
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const ort = createRequire(process.env.FERRY_PEERS + '/')('onnxruntime-node');
const [, , path, threads, runs] = process.argv;
const now = () => Number(process.hrtime.bigint()) / 1e6; // CLOCK_MONOTONIC

const session = await ort.InferenceSession.create(path, {
  intraOpNumThreads: +threads, interOpNumThreads: 1, graphOptimizationLevel: 'all', executionMode: 'sequential',
  logSeverityLevel: 3,
});
const shape = session.inputMetadata[0].shape;
const data = new Float32Array(shape.reduce((a, b) => a * b)).fill(0.5); // at once: JavaScript's sines would take 14 ms
const feeds = { [session.inputNames[0]]: new ort.Tensor('float32', data, shape) };
await session.run(feeds);
const first = now();
const cpu = () => (({ user, system }) => (user + system) / 1e3)(process.cpuUsage());
const firstCpu = cpu();
const dirty = +/Private_Dirty:\s+(\d+)/.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'))[1] * 1024 / 1e6;
const times = [], cpuTimes = [];
for (let i = 0; i < +runs; ++i) {
  const before = now(), cpuBefore = cpu();
  await session.run(feeds);
  times.push(now() - before);
  cpuTimes.push(cpu() - cpuBefore);
}
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
console.log(JSON.stringify({
  first, median_ms: median(times), first_cpu_ms: firstCpu, median_cpu_ms: median(cpuTimes), private_dirty_mb: dirty,
}));
