// W14-across: a worker process writes streams of 50 tokens per second, and another process without a worker reads them:
// first one stream, then many at once.

import { strict as assert } from "node:assert";
import { once } from "node:events";
import type { Perdure } from "../../../src/index.ts";
import { ACROSS_SKIPPED, ACROSS_WARM_UP, acrossSizes, type AcrossSize } from "../../sizes.ts";
import type { Reading, Run } from "../../subject.ts";
import { TokenTimes } from "../../tokens.ts";
import { withPerdure } from "../../support/open.ts";
import { readTokens } from "../../support/token-streams.ts";
import { CHAT, startWriter, type ChatInput } from "../../support/w14-writer.ts";

export const run: Run = (setting) =>
  withPerdure(setting, { autoStart: false }, async (perdure) => {
    const writer = startWriter(setting);
    try {
      await Promise.race([writer.ready, writer.ended]);
      const readings: Reading[] = [];
      await Promise.race([readAll(perdure, ACROSS_WARM_UP), writer.ended]);
      for (const size of acrossSizes(setting)) {
        readings.push(...(await Promise.race([readAll(perdure, size), writer.ended])));
      }
      return readings;
    } finally {
      if (writer.process.connected) {
        const exited = once(writer.process, "exit");
        writer.process.disconnect();
        await exited;
      }
    }
  });

async function readAll(
  { client }: Perdure,
  { streams, tokens }: AcrossSize,
): Promise<readonly Reading[]> {
  const times = new TokenTimes({ skip: ACROSS_SKIPPED });
  await Promise.all(
    Array.from({ length: streams }, async (_, index) => {
      const input: ChatInput = { phase: index / streams, tokens };
      const handle = await client.start(CHAT, input);
      assert.equal(await readTokens(handle, times), tokens, "the reader gets every token");
    }),
  );
  const n = streams;
  return [{ metric: "itemsPerS", value: times.reachedPerS, n }, ...times.latencies(n)];
}
