// The model is only worth what it finds: each store here breaks one promise, and some random sequence must show it.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { TaskAddress } from "../../src/core/provider/index.ts";
import {
  changingItems,
  ignoresTokens,
  openBroken,
  settlesNothing,
  type Breakage,
} from "../conformance/broken-provider.ts";
import { openInMemory } from "../conformance/sqlite-store.ts";
import { seedFromEnvironment } from "../kill/chance.ts";
import { commands } from "./commands.ts";
import { runSequence } from "./sequence.ts";
import { Tally } from "./tally.ts";

const SEED = seedFromEnvironment();
const SEQUENCES = 300;

/** Knows every token it has handed out, and lets an outcome pass under the newest. */
const completesUnderAnyToken: Breakage = (real) => {
  const tokens = new Map<string, number>();
  const address = ({ key, execution, sequence }: TaskAddress): string =>
    `${key}:${execution}:${sequence}`;
  return {
    async leaseTasks(request) {
      const leased = await real.leaseTasks(request);
      for (const task of leased.tasks) tokens.set(address(task), task.token);
      return leased;
    },
    commit: (items) =>
      real.commit(
        items.map((item) => {
          if (item.kind !== "completion") return item;
          const token = tokens.get(address(item.task)) ?? item.task.token;
          return { ...item, task: { ...item.task, token } };
        }),
      ),
  };
};

let sent = 0;
const sendsRepeatedRequestsAgain = changingItems((item) =>
  item.kind === "send" ? { ...item, requestId: `${item.requestId}-${(sent += 1)}` } : item,
);

const BROKEN: readonly { readonly what: string; readonly breakage: Breakage }[] = [
  { what: "commits a turn without a look at its token", breakage: ignoresTokens },
  { what: "completes a task without a look at its token", breakage: completesUnderAnyToken },
  { what: "sends a repeated request again", breakage: sendsRepeatedRequestsAgain },
  { what: "forgets what it has written when it is asked", breakage: settlesNothing },
];

test.each(BROKEN)("the model finds a store that $what", async ({ breakage }) => {
  const stores = { broken: openBroken(openInMemory, breakage) };
  const tally = new Tally();
  const property = fc.asyncProperty(commands, (sequence) => runSequence(sequence, stores, tally));
  const options = { seed: SEED, numRuns: SEQUENCES, endOnFailure: true };
  const { failed, numRuns } = await fc.check(property, options);
  console.log(`PERDURE_SEED=${SEED}: found at sequence ${numRuns}`);
  expect(failed, `seed ${SEED}`).toBe(true);
});
