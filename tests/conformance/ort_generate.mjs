// Continues token ids greedily with ONNX Runtime (npm: onnxruntime-node) and a decoder's cache; prints the new ids as
// JSON.
//   node ort_generate.mjs MODEL.onnx ID,ID,... COUNT LAYERS KV_HEADS HEAD_SIZE
import { createRequire } from 'node:module';

const ort = createRequire(process.env.FERRY_PEERS + '/')('onnxruntime-node');
const [model, prompt, count, layers, heads, size] = process.argv.slice(2);
const session = await ort.InferenceSession.create(model, { logSeverityLevel: 3, graphOptimizationLevel: 'disabled' });
const cache = {};
for (let layer = 0; layer < +layers; layer++)
  for (const part of ['key', 'value'])
    cache[`past_key_values.${layer}.${part}`] = new ort.Tensor('float32', new Float32Array(0), [1, +heads, 0, +size]);
const integers = (list) => new ort.Tensor('int64', BigInt64Array.from(list, BigInt), [1, list.length]);
let ids = prompt.split(',').map(Number);
const all = [...ids], made = [];
while (made.length < +count) {
  const feeds = { ...cache, input_ids: integers(ids), attention_mask: integers(all.map(() => 1)) };
  if (session.inputNames.includes('position_ids'))
    feeds.position_ids = integers(ids.map((_, i) => all.length - ids.length + i));
  const results = await session.run(feeds);
  const vocabulary = results.logits.dims[2];
  const last = Array.from(results.logits.data.subarray((ids.length - 1) * vocabulary, ids.length * vocabulary));
  ids = [last.indexOf(Math.max(...last))];
  made.push(ids[0]);
  all.push(ids[0]);
  for (const name of Object.keys(cache)) cache[name] = results[name.replace('past_key_values', 'present')];
}
console.log(JSON.stringify(made));
