// W14-across for peers with streams: one process writes streams of 50 tokens per second, another reads them.
//   A peer that waits for each write may reach fewer tokens per second; `itemsPerS` shows it.

import { strict as assert } from "node:assert";
import { once } from "node:events";
import { ACROSS_SKIPPED, ACROSS_WARM_UP, acrossSizes, type AcrossSize } from "../../sizes.ts";
import type { Reading } from "../../subject.ts";
import { TokenTimes } from "../../tokens.ts";
import { adapterOf } from "../catalogue.ts";
import type { Engine } from "../peer.ts";
import { PLAIN_WORK, withServer, type PeerRun } from "../run.ts";
import { startWriter, type Writer } from "./w14-writer.ts";

export const run: PeerRun = (order) =>
  withServer(order, "many", async (place) => {
    const { peer, setting } = order;
    const { open } = await adapterOf(peer);
    const engine = await open(place, PLAIN_WORK);
    const writer = startWriter({ peer, place });
    try {
      await Promise.race([writer.ready, writer.ended]);
      const readings: Reading[] = [];
      await Promise.race([readAll(engine, writer, ACROSS_WARM_UP), writer.ended]);
      for (const size of acrossSizes(setting)) {
        readings.push(...(await Promise.race([readAll(engine, writer, size), writer.ended])));
      }
      return readings;
    } finally {
      if (writer.process.connected) {
        const exited = once(writer.process, "exit");
        writer.process.disconnect();
        await exited;
      }
      await engine.close();
    }
  });

async function readAll(
  { readStream }: Engine,
  writer: Writer,
  size: AcrossSize,
): Promise<readonly Reading[]> {
  assert.ok(readStream !== undefined, "the peer has streams");
  const times = new TokenTimes({ skip: ACROSS_SKIPPED });
  const follow = async (key: string): Promise<void> => {
    let position = 0;
    for await (const token of readStream(key)) times.add(token, position++);
    assert.equal(position, size.tokens, "the reader gets every token");
  };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let open = size.streams;
  const onEnd = (): void => {
    if (--open === 0) resolve();
  };
  writer.start(size, (key) => void follow(key).then(onEnd, reject));
  await promise;
  const n = size.streams;
  return [{ metric: "itemsPerS", value: times.reachedPerS, n }, ...times.latencies(n)];
}
