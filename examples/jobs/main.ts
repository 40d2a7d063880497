// node examples/jobs/main.ts [FILE]: enqueues jobs one by one, in bulk, with keys, and as a batch, and prints their results.

import { Perdure } from "../../src/index.ts";
import { index, mail, sync, thumbnail } from "./jobs.ts";

await using perdure = await Perdure.open(`sqlite:${process.argv[2] ?? ":memory:"}`, {
  register: [mail, thumbnail, index, sync],
  runtime: { log: () => undefined }, // the failed attempts of the mail
});
const { client } = perdure;

const sent = await client.enqueue(mail, "ada@example.com");
console.log(await sent.result());

const files = ["a.png", "b.png", "c.png"].map((input) => ({ input, key: "customer-7" }));
const ids = await client.enqueueMany(thumbnail, files);
for (const id of ids) console.log(await client.get(id).result());

const changes = [450, 475, 500].map((cents) =>
  client.enqueue(sync, { sku: "tea", cents }, { debounce: { key: "tea", wait: "50ms" } }),
);
const runs = await Promise.all(changes);
console.log(`${new Set(runs.map(({ id }) => id)).size} run for ${runs.length} calls`);
console.log(await runs[0]?.result());

const documents = await Promise.all(["x", "y", "z"].map((text) => client.enqueue(index, text)));
for (const document of documents) console.log(await document.result());

const queues = await client.queues();
console.log(queues.map(({ name, depth, running }) => `${name} ${depth + running}`).join(", "));
