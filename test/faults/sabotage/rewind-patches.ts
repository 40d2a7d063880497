// Deliberate bugs of rewinds (patches.ts).

import type { Patch } from "./patches.ts";

const REWIND = "test/operations/rewind.test.ts";
const EDGES = "test/operations/rewind-edges.test.ts";
const CONFORMANCE = "test/stores/conformance/sqlite.test.ts";

export const REWIND_PATCHES: readonly Patch[] = [
  {
    bug: "parallel work that completed after the failure is done again",
    file: "src/core/repair/past.ts",
    from: "...dropped.flatMap((event) => keptOutcome(event, before) ?? []),",
    to: "",
    tests: [REWIND],
    only: "parallel work",
  },
  {
    bug: "events that were read after the cut go back twice",
    file: "src/client/repair/plan.ts",
    from: "events: past.events,",
    to: "events: [...past.events, ...past.events.map((each) => ({ ...each, key: null }))],",
    tests: [REWIND],
    only: "events go back",
  },
  {
    bug: "the failed call is done again with another idempotency key",
    file: "src/core/replay/fork.ts",
    from: "return sources.find(({ until }) => sequence <= until)?.execution ?? execution;",
    to: "return sources.length < 0 ? 0 : execution;",
    tests: [REWIND],
    only: "goes on at the failed call",
  },
  {
    bug: "the call at the cut is made again with another idempotency key",
    file: "src/core/replay/fork.ts",
    from: "return isRedone ? redone.execution : execution;",
    to: "return isRedone ? execution : execution;",
    tests: [REWIND],
    only: "events go back",
  },
  {
    bug: "code that does not fit the past is accepted",
    file: "src/client/repair/rewind.ts",
    from: 'if (verdict.kind === "blocked") throw divergence(plan.record.id, verdict.reason);',
    to: 'if (verdict.kind === "blocked") return { ...plan.target, closedStreams: [] };',
    tests: [REWIND],
    only: "does not fit the past",
  },
  {
    bug: "a sibling that was cancelled with a failed child is started again",
    file: "src/client/repair/drafts.ts",
    from: "if (canGoOn(draft)) all.push(draft);",
    to: 'if (canGoOn(draft) && child.status === "failed") all.push(draft);',
    tests: [EDGES],
    only: "siblings that were cancelled",
  },
  {
    bug: "a child whose outcome an operator replaced is rewound",
    file: "src/client/repair/drafts.ts",
    from: "parent === own ? replace : []",
    to: "[]",
    tests: [EDGES],
    only: "outcome is replaced",
  },
  {
    bug: "a step whose outcome was kept runs again",
    file: "src/runtime/attempts/step-runner.ts",
    from: " || isKept(run, task.sequence)) continue;",
    to: " || (isKept(run, task.sequence) && task.failures > 0)) continue;",
    tests: [EDGES],
    only: "many completed steps",
  },
  {
    bug: "work that completed while its instance was blocked is done again",
    file: "src/core/repair/past.ts",
    from: "if (sequence === null || sequence >= before) return null;",
    to: "if (sequence === null || sequence >= 0) return null;",
    tests: [EDGES],
    only: "while its instance is blocked",
  },
  {
    bug: "an instance that changed since its past was read is rewound",
    file: "src/sql/write/rewind.ts",
    from: "head.lastEvent === target.lastEvent &&",
    to: "",
    tests: [CONFORMANCE],
    only: "restarted or rewound meanwhile",
  },
  {
    bug: "a repeated rewind happens twice",
    file: "src/sql/write/rewind.ts",
    from: "if (earlier !== null) return earlier;",
    to: "",
    tests: [CONFORMANCE],
    only: "a repeated rewind",
  },
  {
    bug: "a child is rewound while a worker may already have read its end for the parent",
    file: "src/sql/write/rewind.ts",
    from: "if (parent.token !== null) return false;",
    to: "",
    tests: [CONFORMANCE],
    only: "a child is rewound alone",
  },
];
