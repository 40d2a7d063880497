// W2p: as W2, every activity with one of ten tags and one of five priorities; as a share of W2 in the same process.

import type { Run } from "../subject.ts";
import { five, increment, rounds, routedFive, routedRuntime } from "./five-steps.ts";
import { AT_ONCE } from "../sizes.ts";
import { assertUntroubled, withPerdure } from "./open.ts";

export const run: Run = (setting) =>
  withPerdure(
    setting,
    { register: [five, routedFive, increment], runtime: routedRuntime },
    async (perdure) => {
      const plain = await rounds(perdure, five);
      const routed = await rounds(perdure, routedFive);
      await assertUntroubled(perdure, plain.instances + routed.instances);
      return [
        { metric: "stepsPerS", value: routed.stepsPerS, n: AT_ONCE },
        { metric: "ofW2Percent", value: (100 * routed.stepsPerS) / plain.stepsPerS, n: AT_ONCE },
      ];
    },
  );
