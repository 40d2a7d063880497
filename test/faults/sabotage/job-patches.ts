// Deliberate bugs of jobs, of their keys and of the limits of queues (patches.ts).

import type { Patch } from "./patches.ts";

const CONTRACT = "test/stores/conformance/sqlite.test.ts";
const SIMULATION = "test/faults/simulation/queues.test.ts";
const LIMITS = "test/features/jobs/limits.test.ts";
const SEEDS = "the invariants hold on";

export const JOB_PATCHES: readonly Patch[] = [
  {
    bug: "a job that waits for the end of another one never begins",
    file: "src/sql/write/enqueue-keys.ts",
    from: "if (unbegun !== null && isWaiting(unbegun)) {",
    to: "if (unbegun !== null && !isWaiting(unbegun)) {",
    tests: [SIMULATION],
    only: SEEDS,
  },
  {
    bug: "a debounced job runs with the input of the first call",
    file: "src/sql/write/keyed-starts.ts",
    from: `  const visibleAt = Math.max(Math.min(after(now, waitMs), latest), now);
  yield* replaceStart(`,
    to: `  const visibleAt = Math.max(Math.min(after(now, waitMs), latest), now);
  if (visibleAt < 0) yield* replaceStart(`,
    tests: [SIMULATION],
    only: SEEDS,
  },
  {
    bug: "further calls delay a debounced job beyond its maximum",
    file: "src/sql/write/keyed-starts.ts",
    from: "const latest = maxMs === null ? Infinity : after(row.openedAt, maxMs);",
    to: "const latest = maxMs === null ? Infinity : after(now, maxMs);",
    tests: [CONTRACT],
    only: "at the latest after the maximum since the first call",
  },
  {
    bug: "a job replaces one that is running, so two of one key run",
    file: "src/sql/write/keyed-starts.ts",
    from: 'return tasks.length !== 1 || task === undefined || !flag(task, "waits");',
    to: 'return tasks.length > 1 && task !== undefined && !flag(task, "waits");',
    tests: [CONTRACT],
    only: "replace inserts the next instance",
  },
  {
    bug: "a throttle window ends when its job is deleted",
    file: "src/sql/write/enqueue-keys.ts",
    from: "const isOpen = until !== null && (nextUntil ?? until) > now;",
    to: "const isOpen = until !== null && nextUntil !== null && nextUntil > now;",
    tests: [CONTRACT],
    only: "a window counts although its instance was deleted",
  },
  {
    bug: "a failed attempt keeps its slot while it waits for the next one",
    file: "src/sqlite/lease/tasks.ts",
    from: `    UPDATE tasks SET attempt = attempt + 1, \${FAILED}, \${CLEAR_LEASE}, holds_slot = 0`,
    to: `    UPDATE tasks SET attempt = attempt + 1, \${FAILED}, \${CLEAR_LEASE}`,
    tests: [SIMULATION],
    only: SEEDS,
  },
  {
    bug: "concurrency is exceeded by one",
    file: "src/core/provider/shared/queue-admission.ts",
    from: "running + slots.count >= concurrency ||",
    to: "running + slots.count > concurrency ||",
    tests: [CONTRACT],
    only: "concurrency of queues",
  },
  {
    bug: "a worker whose event loop was late enters its tasks although their admission is over",
    file: "src/runtime/attempts/queues.ts",
    from: "if (measure() <= enterWithinMs) return true;",
    to: "if (measure() >= 0) return true;",
    tests: [LIMITS],
    only: "slow round trips",
  },
  {
    bug: "a process that is stopped just before the code of a task exceeds its rate",
    file: "src/runtime/attempts/queues.ts",
    from: "if (byMs >= 0 && byMs < stepMs) continue;",
    to: "if (byMs < stepMs) continue;",
    tests: [LIMITS],
    only: "entered late after all",
  },
  {
    bug: "a worker with slow round trips never enters the tasks of a rate",
    file: "src/runtime/attempts/queues.ts",
    from: "const ENTER_MAX_MS = 60_000;",
    to: "const ENTER_MAX_MS = 1_000;",
    tests: [LIMITS, SIMULATION],
    only: `slow round trips|${SEEDS}`,
  },
  {
    bug: "a key that had no tasks catches up, and delays the other keys",
    file: "src/core/provider/shared/fair-order.ts",
    from: "start: Math.max(lane.nextStart ?? 0, virtualTime) }));",
    to: "start: virtualTime < 0 ? 0 : (lane.nextStart ?? 0) }));",
    tests: [CONTRACT],
    only: "a key gets no extra share",
  },
  {
    bug: "a bulk item whose reply was lost returns ids of jobs that do not exist",
    file: "src/sql/write/bulk-starts.ts",
    from: "const id = settled?.id ?? (yield* keyed.idUnder(start));",
    to: "const id = settled?.id ?? null;",
    tests: [CONTRACT],
    only: "name the instances that keyed starts met",
  },
  {
    bug: "the last turn of a job overwrites a cancel",
    file: "src/sqlite/write/turn.ts",
    from: "AND NOT EXISTS (SELECT 1 FROM inbox WHERE instance = ?1)`;",
    to: "`;",
    tests: [CONTRACT],
    only: "a lease, a message, a pause, a block or another position refuses the end",
  },
];
