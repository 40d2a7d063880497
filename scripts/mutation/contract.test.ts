// The contract of a store, on SQLite in memory: the subjects that concern the part that is mutated.

import { contractSubjects, registerCases } from "../../src/testing/conformance/index.ts";
import { IN_MEMORY, openInMemory } from "../../test/stores/conformance/sqlite-store.ts";

const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  leases: [
    ...["starting", "turn atomicity", "fencing", "timers", "cancel", "pause", "continue as new"],
    ...["tasks", "task retry", "task suspects", "task tags", "deferred tasks", "heartbeats"],
    ...["sessions", "session leases", "session pre-leases", "step outcomes", "suspicion"],
    ...["instance leases", "lease expiry", "lost replies", "liveness", "visible state"],
    ...["notifications", "dispatched items", "first turns", "history"],
    ...["waiting events", "waiting work", "streams of turns", "requests", "callbacks", "metrics"],
    ...["ends of jobs", "starts of jobs", "restart and conflicts", "group commit", "terminate"],
    ...["settled items of streams", "detached starts", "quarantine", "bulk starts", "askers"],
    ...["starts that wait for the end of another instance", "start with events", "deletion"],
    ...["multiple executions", "generated request ids", "sweeps", "duplicates", "expiry"],
  ],
  queues: [
    ...["concurrency of queues", "limits per key of queues", "rates of queues", "states of queues"],
    ...["fair order of queues", "queues", "tasks", "sessions", "task suspects", "liveness"],
    ...["suspicion", "quarantine", "deferred tasks"],
  ],
  callbacks: ["appends to streams", "callbacks"],
};
const wanted = SUBJECTS[process.env["PERDURE_MUTATION_PART"] ?? ""] ?? [];
const known = new Set(contractSubjects.map(({ subject }) => subject));
const unknown = wanted.filter((subject) => !known.has(subject));
if (unknown.length > 0) throw new Error(`The contract has no subject ${unknown.join(", ")}.`);

for (const subject of contractSubjects) {
  if (wanted.includes(subject.subject)) registerCases(subject, openInMemory, IN_MEMORY);
}
