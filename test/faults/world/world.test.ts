// The programmes of `npm run world` at a tenth of their sizes, with PERDURE_FULL; and how their verdicts are given.

import { expect, test } from "vitest";
import { PROGRAMMES } from "../../../scripts/world/catalogue.ts";
import { rule, type Programme } from "../../../scripts/world/programme.ts";
import { describeVerdict, tableOf } from "../../../scripts/world/table.ts";
import { verdictOf } from "../../../scripts/world/verdict.ts";

const SIZE = 0.1;
const TIMEOUT_MS = 900_000; // dozens of processes in a row, on a machine that may be busy

function programme(run: Programme["run"], obstacle: string | null = null): Programme {
  return { name: "sample", what: "", stores: ["sqlite"], obstacle: () => obstacle, run };
}

async function sampled(violations: readonly string[]): ReturnType<Programme["run"]> {
  return { figure: "3 of 4", numbers: { found: 3 }, rules: [rule("all are there", violations)] };
}

const where = { store: "sqlite", size: 1 } as const;

test("a programme passes if all its rules hold", async () => {
  const verdict = await verdictOf(
    programme(async () => sampled([])),
    where,
  );
  expect(verdict).toMatchObject({ verdict: "passed", figure: "3 of 4", numbers: { found: 3 } });
  expect(tableOf([verdict])).toContain("| sample | sqlite | passed | 3 of 4 |");
});

test("a programme with a broken rule names what was found", async () => {
  const verdict = await verdictOf(
    programme(async () => sampled(["no d", "no e"])),
    where,
  );
  expect(verdict.verdict).toBe("broken");
  expect(describeVerdict(verdict)).toContain("✗ all are there (found: no d, and 1 more)");
});

test("a programme without rules, or that ends with an error, has not passed", async () => {
  const silent = await verdictOf(
    programme(async () => ({ figure: "", numbers: {}, rules: [] })),
    where,
  );
  expect(silent.verdict).toBe("broken");
  const failed = await verdictOf(
    programme(() => Promise.reject(new Error("no server"))),
    where,
  );
  expect(failed.verdict).toBe("broken");
  expect(describeVerdict(failed)).toContain("no server");
});

test("a programme that this machine cannot run says why, and has not passed", async () => {
  const verdict = await verdictOf(
    programme(async () => sampled([]), "needs root"),
    where,
  );
  expect(verdict).toMatchObject({ verdict: "not run", figure: "needs root", rules: [] });
});

if (process.env["PERDURE_FULL"] === "1") {
  for (const each of PROGRAMMES) {
    const obstacle = each.obstacle();
    for (const store of each.stores) {
      const title =
        obstacle === null ? each.what : `${each.name} does not run here: it ${obstacle}`;
      test(`${title} (${store})`, { timeout: TIMEOUT_MS }, async () => {
        const verdict = await verdictOf(each, { store, size: SIZE });
        console.log(describeVerdict(verdict));
        expect(verdict.rules.filter(({ holds }) => !holds)).toEqual([]);
        expect(verdict.verdict).toBe(obstacle === null ? "passed" : "not run");
      });
    }
  }
}
