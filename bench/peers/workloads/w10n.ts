// W10n for peers: 1,000 instances of five steps that return 20 kB, started at once.

import { strict as assert } from "node:assert";
import { timeMs } from "../../measure.ts";
import { Payloads } from "../../payload.ts";
import { PAYLOAD_CHARS, PAYLOAD_INSTANCES, STEPS } from "../../sizes.ts";
import { withEngine, type PeerRun } from "../run.ts";

const payloads = new Payloads(13);

export const run: PeerRun = (order) =>
  withEngine(
    order,
    "many",
    async (engine) => {
      const { startBulk } = engine;
      if (startBulk === undefined) throw new Error(`${order.peer} has no program for W10n.`);
      const round = async (name: string, count: number): Promise<void> => {
        const ids = Array.from({ length: count }, (_, i) => `w10n-${name}-${i}`);
        const starts = ids.map((id) => startBulk({ id, n: STEPS, value: 0 }));
        const keys = await Promise.all(starts);
        const results = await Promise.all(keys.map((key) => engine.result(key)));
        for (const chars of results) assert.equal(chars, STEPS * PAYLOAD_CHARS);
      };
      const n = PAYLOAD_INSTANCES;
      await round("warm-up", n / 10);
      const ms = await timeMs(() => round("measured", n));
      return [{ metric: "stepsPerS", value: ((n * STEPS) / ms) * 1_000, n }];
    },
    { payload: () => payloads.text(PAYLOAD_CHARS) },
  );
