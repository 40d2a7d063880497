// Reads of the store by readers that follow a live stream (read-stream.4, stream-hub.2).

import { expect, onTestFinished, test, vi } from "vitest";
import { event, orchestration, Perdure } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { stream } from "../../../src/stream/index.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";

const words = stream<string>("words");
const say = event<string>("say");
const chat = orchestration("chat", async (ctx) => {
  for await (const word of ctx.events(say)) {
    if (word === "end") return;
    ctx.stream(words).write(word);
    if (word === "last") return;
  }
});

/** How long the process has work to do, less than the interval of the timer for lost notifications. */
const SOON_MS = 50;

async function setup() {
  const environment = new VirtualEnvironment();
  const provider = await SqliteProvider.open(":memory:", { environment });
  onTestFinished(() => provider.close());
  const reads = vi.spyOn(provider, "readStream");
  const runtime = { log: () => undefined };
  const perdure = await Perdure.open(provider, { register: [chat], runtime });
  onTestFinished(() => perdure.close());
  const started = perdure.client.start(chat);
  await environment.advance(SOON_MS);
  return { environment, reads, handle: await started };
}

test.for([1, 10])("%i readers at the end of a stream cause one read per change", async (count) => {
  const { environment, reads, handle } = await setup();
  const texts = Array.from({ length: count }, () => [] as string[]);
  const readers = texts.map(async (text) => {
    for await (const entry of handle.stream(words)) {
      text.push(entry.kind === "item" ? entry.value : entry.kind);
    }
  });
  await environment.advance(SOON_MS);
  for (const word of ["a", "b", "c"]) {
    reads.mockClear();
    await handle.raise(say, word);
    await environment.advance(SOON_MS);
    expect(texts.map((text) => text.at(-1))).toEqual(texts.map(() => word));
    expect(reads).toHaveBeenCalledTimes(1);
  }
  await handle.raise(say, "end");
  await environment.advance(SOON_MS);
  await Promise.all(readers);
  for (const text of texts) expect(text).toEqual(["a", "b", "c", "end"]);
});

test("a reader that takes the last entry from memory gets the end at once", async () => {
  const { environment, handle } = await setup();
  const [fast, slow] = [handle.stream(words), handle.stream(words)];
  const firsts = [fast.next(), slow.next()];
  await handle.raise(say, "a");
  await environment.advance(SOON_MS);
  await Promise.all(firsts);
  const last = fast.next();
  await handle.raise(say, "last");
  await environment.advance(SOON_MS);
  expect((await last).value).toMatchObject({ value: "last" });
  expect((await slow.next()).value).toMatchObject({ value: "last" });
  const ends = [fast.next(), slow.next()];
  await environment.advance(SOON_MS);
  expect(await Promise.all(ends)).toMatchObject([
    { value: { kind: "end" } },
    { value: { kind: "end" } },
  ]);
});
