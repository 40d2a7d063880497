// The model must find broken stores: each store here breaks one rule, and some random sequence must show it.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { TaskAddress } from "../../../src/core/provider/index.ts";
import {
  changingItems,
  changingTurns,
  ignoresTokens,
  openBroken,
  settlesNothing,
  type Breakage,
} from "../conformance/broken-provider.ts";
import { openInMemory } from "../conformance/sqlite-store.ts";
import { seedFromEnvironment } from "../../faults/kill/chance.ts";
import { commands } from "./commands.ts";
import { runSequence } from "./sequence.ts";
import { Tally } from "./tally.ts";

const SEED = seedFromEnvironment();
const SEQUENCES = 300;

/** Replaces the token of an outcome by the newest token of the task. */
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

/** Writes the start alone, and answers as if it had written the first turn. */
const forgetsFirstTurns: Breakage = (real) => ({
  async commit(items) {
    const results = await real.commit(
      items.map((item) => {
        if (item.kind !== "start") return item;
        const { firstTurn: _, ...start } = item;
        return start;
      }),
    );
    return results.map((result, index) => {
      const item = items[index];
      const brought = item?.kind === "start" && item.firstTurn !== undefined;
      if (!brought || result.kind !== "started" || result.leased === null) return result;
      return { ...result, leased: null, due: [] };
    });
  },
});

const BROKEN: readonly { readonly what: string; readonly breakage: Breakage }[] = [
  { what: "ignores the token of a turn", breakage: ignoresTokens },
  { what: "ignores the token of a task", breakage: completesUnderAnyToken },
  { what: "sends a repeated request again", breakage: sendsRepeatedRequestsAgain },
  {
    what: "stores no answers",
    breakage: changingTurns(({ answers: _, ...turn }) => turn),
  },
  {
    what: "drops dispatched items",
    breakage: changingTurns(({ dispatched: _, ...turn }) => turn),
  },
  { what: "does not recognize written items", breakage: settlesNothing },
  { what: "does not write the first turn of a start", breakage: forgetsFirstTurns },
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
