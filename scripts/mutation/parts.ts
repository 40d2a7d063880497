// The parts of the source that are mutated, and the tests that must detect the mutants.
//   - Only fast tests without a server, a browser or a second process: each mutant costs a run of them.
//   - A mutant that only other tests would detect counts as survived.

export interface Part {
  readonly name: string;
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
  /** Titles of tests that take a second or more. */
  readonly without?: readonly string[];
}

export const PARTS: readonly Part[] = [
  {
    name: "codec",
    mutate: ["src/core/values/{codec,bigint,bytes,decode,encode,path,plain,class-tags}.ts"],
    tests: [
      "test/unit/core/values/codec.test.ts",
      "test/unit/core/values/codec-{edges,format,refusals}.test.ts",
    ],
    without: [
      "a graph of shared objects that would expand to too many copies is refused",
      "random values",
      "errors nested deeper are refused, with a shortened path",
    ],
  },
  {
    name: "authorisation",
    mutate: [
      "src/server/security/access.ts",
      "src/server/security/origin-check.ts",
      "src/server/security/roles.ts",
      "src/server/security/sessions.ts",
      "src/server/security/token-file.ts",
      "src/server/security/tokens.ts",
    ],
    tests: ["test/interfaces/server/authorisation.test.ts"],
  },
  {
    name: "leases",
    mutate: ["src/sqlite/{lease/leases,write/turn,lease/runtimes,lease/tasks}.ts"],
    tests: ["scripts/mutation/contract.test.ts"],
  },
  {
    name: "holding",
    mutate: [
      "src/runtime/instances/{lease-renewal,held-instances,local-starts,lost-leases,release-rule}.ts",
      "src/runtime/health/liveness.ts",
    ],
    tests: [
      "test/unit/runtime/instances/{local-starts,held-instances,release-rule}.test.ts",
      "test/unit/runtime/health/liveness.test.ts",
      "test/scenarios/lifecycle/leases.test.ts",
    ],
  },
  {
    name: "replay",
    mutate: [
      "src/core/replay/{run,calls,cancel,delivery,fork,match-history,run-options,run-scope,run-state-commands,run-state}.ts",
      "src/core/replay/{orchestration-main,inbox-delivery,mailbox,execution-end,effects}.ts",
      "src/core/context/combinators.ts",
      "src/core/history/{matching,rows}.ts",
    ],
    tests: ["test/replay/*.test.ts", "test/unit/core/history/rows.test.ts"],
    without: [
      "300 random programs issue the same commands from every prefix of their history",
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
    throw new Error(`Unknown part ${String(name)}; choose from ${names}.`);
  }
  return part;
}
