// Times a language model with llama.cpp (npm: node-llama-cpp) as an application would run it.
//   node llama_bench.mjs MODEL.gguf THREADS PROMPT_TOKENS NEW_TOKENS ROUNDS
// Prints one JSON line with the fields of `ferry bench --json`.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const { getLlama } = await import(
  pathToFileURL(createRequire(process.env.FERRY_PEERS + '/').resolve('node-llama-cpp')).href);
const [, , path, threads, promptTokens, newTokens, rounds] = process.argv;
const now = () => Number(process.hrtime.bigint()) / 1e6;

const start = now();
const llama = await getLlama({ gpu: false, build: 'never', progressLogs: false, logLevel: 'error', maxThreads: +threads });
const loading = now();
const model = await llama.loadModel({ modelPath: path, gpuLayers: 0 });
const loaded = now();
const context = await model.createContext({
  threads: +threads, contextSize: +promptTokens + +newTokens + 8, batchSize: 512, sequences: 1,
});
const made = now();
const sequence = context.getSequence();
// Ids all over the vocabulary, the same as those of `ferry bench`.
const vocabulary = model.fileInfo.metadata.tokenizer.ggml.tokens.length;
const prompt = [];
for (let i = 0, state = 1; i < +promptTokens; ++i) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  prompt.push((state >>> 8) % vocabulary);
}
let firstToken = 0, promptRate = 0, rate = 0, cpu = Infinity, promptCpu = Infinity;
const used = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1e3; };
for (let round = 0; round < +rounds; ++round) {
  await sequence.clearHistory();
  let before = now(), busy = used(), count = 0;
  for await (const _ of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
    if (count++ === 0) {
      if (round === 0) firstToken = now() - before;
      promptRate = Math.max(promptRate, 1e3 * prompt.length / (now() - before));
      promptCpu = Math.min(promptCpu, used() - busy);
      before = now();
      busy = used();
    }
    if (count >= +newTokens) break;
  }
  rate = Math.max(rate, 1e3 * (newTokens - 1) / (now() - before));
  cpu = Math.min(cpu, used() - busy);
}
const status = readFileSync('/proc/self/status', 'utf8');
const kilobytes = (name) => 1024 * +status.match(new RegExp(`^${name}:\\s+(\\d+)`, 'm'))[1];
console.log(JSON.stringify({
  load_ms: loaded - loading, session_ms: made - loaded, start_ms: loading - start, first_token_ms: firstToken,
  prompt_tokens_per_second: promptRate, tokens_per_second: rate,
  prompt_cpu_ms: promptCpu, token_cpu_ms: cpu / (newTokens - 1),
  peak_rss_bytes: kilobytes('VmHWM'), private_bytes: kilobytes('RssAnon'),
}));
process.exit(0);
