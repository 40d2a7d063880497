// The contract of leases, turns and liveness, on SQLite in memory: the tests of the part "leases".

import { contractSubjects, registerCases } from "../../src/testing/conformance/index.ts";
import { IN_MEMORY, openInMemory } from "../../test/stores/conformance/sqlite-store.ts";

const SUBJECTS = [
  "starting",
  "turn atomicity",
  "fencing",
  "timers",
  "tasks",
  "task retry",
  "task suspects",
  "sessions",
  "session leases",
  "heartbeats",
  "instance leases",
  "lease expiry",
  "lost replies",
  "liveness",
  "cancel",
  "pause",
  "step outcomes",
  "suspicion",
  "visible state",
  "continue as new",
];

for (const subject of contractSubjects) {
  if (SUBJECTS.includes(subject.subject)) registerCases(subject, openInMemory, IN_MEMORY);
}
