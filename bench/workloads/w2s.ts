// W2s: as W2, every activity on one of a hundred sessions; as a share of W2 in the same process.

import type { Run } from "../subject.ts";
import { five, increment, rounds, sessionFive } from "./five-steps.ts";
import { AT_ONCE } from "../sizes.ts";
import { assertUntroubled, withPerdure } from "./open.ts";

export const run: Run = (setting) =>
  withPerdure(
    setting,
    { register: [five, sessionFive, increment], runtime: { maxSessionsPerRuntime: 100 } },
    async (perdure) => {
      const plain = await rounds(perdure, five);
      const bound = await rounds(perdure, sessionFive);
      await assertUntroubled(perdure, plain.instances + bound.instances);
      return [
        { metric: "stepsPerS", value: bound.stepsPerS, n: AT_ONCE },
        { metric: "ofW2Percent", value: (100 * bound.stepsPerS) / plain.stepsPerS, n: AT_ONCE },
      ];
    },
  );
