// The parts of the source that are mutated, and the tests that have to notice.
//   MP1. Only tests that need no server, no browser and no second process, and no seconds: a mutant costs a run of them.
//   MP2. A mutant that only a test outside of these would notice counts as survived.

export interface Part {
  readonly name: string;
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
  /** Titles of tests that take a second and more. */
  readonly without?: readonly string[];
}

export const PARTS: readonly Part[] = [
  {
    name: "codec",
    mutate: ["src/core/codec*.ts", "!src/core/*.test.ts"],
    tests: ["src/core/codec.test.ts", "src/core/codec-{edges,format,refusals}.test.ts"],
    without: [
      "a web of shared objects that would be endless as copies is refused",
      "anything that fast-check can think of",
      "errors are refused beyond it, with a path of bearable length",
    ],
  },
  {
    name: "authorisation",
    mutate: [
      "src/server/access.ts",
      "src/server/origin-check.ts",
      "src/server/roles.ts",
      "src/server/sessions.ts",
      "src/server/token-file.ts",
      "src/server/tokens.ts",
    ],
    tests: ["test/server/authorisation.test.ts"],
  },
  {
    name: "leases",
    mutate: ["src/sqlite/{leases,turn,runtimes,tasks}.ts"],
    tests: ["scripts/mutation/contract.test.ts"],
  },
  {
    name: "holding",
    mutate: ["src/runtime/{renewal,holding,adoption,liveness,lost-work,release-rule}.ts"],
    tests: [
      "src/runtime/{adoption,holding,liveness,release-rule}.test.ts",
      "test/scenarios/leases.test.ts",
    ],
  },
  {
    name: "replay",
    mutate: [
      "src/core/run*.ts",
      "src/core/{orchestration-main,inbox-delivery,mailbox,combinators,match,history-row,execution-end,turn-effects}.ts",
    ],
    tests: ["test/replay/*.test.ts", "src/core/history-row.test.ts"],
    without: [
      "300 random programs ask for the same from every prefix of their history",
      "2,000 function branches run and are cancelled",
      "2,000 parallel tasks run, finish in any order and replay",
      "large payloads pass through unchanged",
    ],
  },
];

export function partNamed(name: string | undefined): Part {
  const part = PARTS.find((one) => one.name === name);
  if (part === undefined) {
    const names = PARTS.map((one) => one.name).join(", ");
    throw new Error(`No part is called ${String(name)}; there are: ${names}.`);
  }
  return part;
}
