// Random programs, replayed from every prefix of their history (T2): before each turn the driver replays what there is,
// does the turn cold as well as hot, and holds both to the same commands (DR2, DR3). PERDURE_SEED asks for the same.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { OrchestrationContext } from "../../src/core/context-types.ts";
import { seedFromEnvironment } from "../kill/chance.ts";
import { cancel, completed, failed, fired, raised, type Given } from "./bodies.ts";
import { begin, type Note } from "./support.ts";

const PROGRAMS = process.env["PERDURE_FULL"] === "1" ? 6_000 : 300;
const TURNS_MAX = 12;
const NAMES = ["a", "b"];

type Node =
  | { readonly kind: "run" | "event" | "sleep" | "look"; readonly name: string }
  | { readonly kind: "sequence" | "all" | "race" | "shield"; readonly parts: readonly Node[] };

const { node: programs } = fc.letrec<{ node: Node; leaf: Node; tree: Node }>((tie) => ({
  node: fc.oneof({ depthSize: "medium", withCrossShrink: true }, tie("leaf"), tie("tree")),
  leaf: fc.record({
    kind: fc.constantFrom("run", "event", "sleep", "look"),
    name: fc.constantFrom(...NAMES),
  }),
  tree: fc.record({
    kind: fc.constantFrom("sequence", "all", "race", "shield"),
    parts: fc.array(tie("node"), { minLength: 1, maxLength: 4 }),
  }),
}));
/** What is told in one turn: to whom of those that wait, and what. */
const tellings = fc.array(fc.array(fc.tuple(fc.nat(9), fc.nat(19)), { maxLength: 3 }), {
  minLength: 1,
  maxLength: TURNS_MAX,
});

test(`${PROGRAMS} random programs ask for the same from every prefix of their history`, async () => {
  const seed = seedFromEnvironment();
  let replayed = 0;
  let ended = 0;
  const property = fc.asyncProperty(
    fc.noBias(programs),
    fc.noBias(tellings),
    async (program, turns) => {
      const play = await begin(async (ctx, _input, note) => {
        const result = await carryOut(ctx, program, note);
        note(ctx.random());
        return result;
      });
      for (const told of turns) {
        if (play.last.ended !== null) break;
        const { open } = play.last;
        const given = told.map(([which, what]) =>
          tell(open[which % Math.max(open.length, 1)], what),
        );
        const turn = await play.turn(...given);
        expect(turn.blocked).toBeNull();
        replayed += 1;
      }
      if (play.last.ended !== null) ended += 1;
    },
  );
  await fc.assert(property, { seed, numRuns: PROGRAMS });
  console.log(`PERDURE_SEED=${seed}: ${replayed} prefixes, ${ended} programs came to their end`);
  expect(replayed, `seed ${seed}`).toBeGreaterThan(PROGRAMS);
  expect(ended, `seed ${seed}`).toBeGreaterThan(PROGRAMS / 10);
});

/** A failure and a cancel are told in the result: the program goes on beside them. */
async function carryOut(
  ctx: OrchestrationContext<undefined>,
  node: Node,
  note: Note,
): Promise<unknown> {
  switch (node.kind) {
    case "run":
      return ctx.run(node.name).catch(nameOf);
    case "event":
      return ctx.event(node.name).catch(nameOf);
    case "sleep":
      return ctx.sleep("1m").catch(nameOf);
    case "look":
      note([ctx.now().getTime(), ctx.uuid(), ctx.random(), ctx.info.historyLength]);
      return null;
    case "sequence": {
      const results: unknown[] = [];
      for (const part of node.parts) results.push(await carryOut(ctx, part, note));
      return results;
    }
    case "shield":
      return ctx.shield(async () => {
        for (const part of node.parts) await carryOut(ctx, part, note);
      });
    case "all":
      return Promise.all(node.parts.map((part) => carryOut(ctx, part, note)));
    case "race": {
      const tasks = node.parts.map((_, index) => ctx.run(`racer ${index}`));
      const winner = await ctx.race(tasks).catch(nameOf);
      const after = node.parts[0];
      return [winner, after === undefined ? null : await carryOut(ctx, after, note)];
    }
  }
}

function nameOf(error: unknown): unknown {
  return error instanceof Error ? error.name : "no error";
}

/** `open` is "sequence kind name"; an event reaches who waits for it, or nobody yet. */
function tell(open: string | undefined, what: number): Given {
  const [sequence = "", kind = "", name = ""] = (open ?? "").split(" ");
  if (what === 19) return cancel("enough");
  if (kind === "activity") {
    return what < 5 ? failed(Number(sequence), new Error("no")) : completed(Number(sequence), what);
  }
  if (kind === "timer") return fired(Number(sequence));
  return raised(kind === "event" && what > 3 ? name : "another", what);
}
