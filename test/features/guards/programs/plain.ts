// Guards in plain Node, without the loader of a test runner: names imported from Node's modules, references taken
// before the runtime started, and the console. Prints its observations as one line of JSON.

import { getRandomValues, randomBytes, randomUUID } from "node:crypto";
import { readFileSync, writeSync } from "node:fs";
import { hrtime } from "node:process";
import { setTimeout as pause } from "node:timers/promises";

// Like a library that was loaded earlier and keeps references to the originals.
const cachedNow = Date.now;
const { random: cachedRandom } = Math;
class Stamp extends Date {}

const { orchestration, Perdure } = await import("../../../../src/index.ts");

const ended = (call: () => unknown): string => {
  try {
    call();
    return "allowed";
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
};

const work = orchestration("work", async (ctx) => {
  const before = ctx.now().getTime();
  while (cachedNow() <= before); // until the host clock has advanced
  console.log("the console works in an orchestration");
  return {
    uuid: randomUUID() !== randomUUID() && randomUUID(),
    getRandomValues: ended(() => getRandomValues(new Uint8Array(1))),
    randomBytes: ended(() => randomBytes(1)),
    pause: ended(() => pause(1)),
    readFileSync: ended(() => readFileSync("package.json")),
    // Not guarded: references taken earlier, and clocks that no guard covers.
    cachedNow: cachedNow() === before,
    cachedRandom: cachedRandom() === ctx.random(),
    earlierClass: new Stamp().getTime() === before,
    hrtime: ended(() => hrtime.bigint()),
    directly: Date.now() === before && new Date().getTime() === before,
  };
});

const perdure = await Perdure.open("sqlite::memory:", { register: [work] });
const handle = await perdure.client.start(work);
const first = await handle.result();
const [started] = await handle.history();
await perdure.close();
writeSync(
  1,
  `${JSON.stringify({ first, started, after: ended(() => readFileSync("package.json")) })}\n`,
);
