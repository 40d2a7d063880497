// Random programs, replayed from every prefix of their history. Before each turn the driver replays the history, runs
// the turn hot and cold, and requires the same commands (test-replay.support.1, test-replay.support.2). PERDURE_SEED
// repeats a run.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { OrchestrationContext } from "../../src/core/context/types.ts";
import { seedFromEnvironment } from "../faults/kill/chance.ts";
import { cancel, completed, failed, fired, raised, type Given } from "./bodies.ts";
import { begin, type Note } from "./support.ts";

const PROGRAMS = process.env["PERDURE_FULL"] === "1" ? 6_000 : 300;
const TURNS_MAX = 12;
const NAMES = ["a", "b"];

type Node =
  | { readonly kind: "run" | "event" | "sleep" | "note"; readonly name: string }
  | { readonly kind: "sequence" | "all" | "race" | "shield"; readonly parts: readonly Node[] };

const { node: programs } = fc.letrec<{ node: Node; leaf: Node; tree: Node }>((tie) => ({
  node: fc.oneof({ depthSize: "medium", withCrossShrink: true }, tie("leaf"), tie("tree")),
  leaf: fc.record({
    kind: fc.constantFrom("run", "event", "sleep", "note"),
    name: fc.constantFrom(...NAMES),
  }),
  tree: fc.record({
    kind: fc.constantFrom("sequence", "all", "race", "shield"),
    parts: fc.array(tie("node"), { minLength: 1, maxLength: 4 }),
  }),
}));
/** The inputs of each turn: the index of an open task, and a value that selects its outcome. */
const turnInputs = fc.array(fc.array(fc.tuple(fc.nat(9), fc.nat(19)), { maxLength: 3 }), {
  minLength: 1,
  maxLength: TURNS_MAX,
});

test(`${PROGRAMS} random programs issue the same commands from every prefix of their history`, async () => {
  const seed = seedFromEnvironment();
  let replayed = 0;
  let ended = 0;
  const property = fc.asyncProperty(
    fc.noBias(programs),
    fc.noBias(turnInputs),
    async (program, turns) => {
      const play = await begin(async (ctx, _input, note) => {
        const result = await execute(ctx, program, note);
        note(ctx.random());
        return result;
      });
      for (const inputs of turns) {
        if (play.last.ended !== null) break;
        const { open } = play.last;
        const given = inputs.map(([which, value]) =>
          outcomeFor(open[which % Math.max(open.length, 1)], value),
        );
        const turn = await play.turn(...given);
        expect(turn.blocked).toBeNull();
        replayed += 1;
      }
      if (play.last.ended !== null) ended += 1;
    },
  );
  await fc.assert(property, { seed, numRuns: PROGRAMS });
  console.log(`PERDURE_SEED=${seed}: ${replayed} prefixes, ${ended} programs ended`);
  expect(replayed, `seed ${seed}`).toBeGreaterThan(PROGRAMS);
  expect(ended, `seed ${seed}`).toBeGreaterThan(PROGRAMS / 10);
});

/** Failures and cancels become part of the result, so that the program continues. */
async function execute(
  ctx: OrchestrationContext<undefined>,
  node: Node,
  note: Note,
): Promise<unknown> {
  switch (node.kind) {
    case "run":
      return ctx.run(node.name).catch(nameOf);
    case "event":
      return ctx.waitFor(node.name).catch(nameOf);
    case "sleep":
      return ctx.sleep("1m").catch(nameOf);
    case "note":
      note([ctx.now().getTime(), ctx.uuid(), ctx.random(), ctx.info.historyLength]);
      return null;
    case "sequence": {
      const results: unknown[] = [];
      for (const part of node.parts) results.push(await execute(ctx, part, note));
      return results;
    }
    case "shield":
      return ctx.shield(async () => {
        for (const part of node.parts) await execute(ctx, part, note);
      });
    case "all":
      return Promise.all(node.parts.map((part) => execute(ctx, part, note)));
    case "race": {
      const tasks = node.parts.map((_, index) => ctx.run(`racer ${index}`));
      const winner = await ctx.race(tasks).catch(nameOf);
      const after = node.parts[0];
      return [winner, after === undefined ? null : await execute(ctx, after, note)];
    }
  }
}

function nameOf(error: unknown): unknown {
  return error instanceof Error ? error.name : "no error";
}

/** `open` is "sequence kind name". An event goes to its wait, or stays unread. */
function outcomeFor(open: string | undefined, value: number): Given {
  const [sequence = "", kind = "", name = ""] = (open ?? "").split(" ");
  if (value === 19) return cancel("enough");
  if (kind === "activity") {
    return value < 5
      ? failed(Number(sequence), new Error("no"))
      : completed(Number(sequence), value);
  }
  if (kind === "timer") return fired(Number(sequence));
  return raised(kind === "event" && value > 3 ? name : "another", value);
}
