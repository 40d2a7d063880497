// When a simulation run may end although a killer (a job that crashes its process) is quarantined (killers.3).

import { expect, test } from "vitest";
import type { Job } from "../../../src/testing/simulation/programs/jobs.ts";
import { Killers } from "../../../src/testing/simulation/programs/killers.ts";

const QUARANTINED = {
  id: "killer",
  blocked: JSON.stringify({ code: "QUARANTINE", message: "its process died" }),
};

function killer(salt: number): Job {
  return {
    id: "killer",
    slot: 0,
    startAtMs: 0,
    delayMs: null,
    priority: 3,
    version: null,
    input: { rounds: [{ op: "kill", where: "turn", fixed: false, salt }], undo: [], end: "return" },
    controls: [],
    ahead: null,
    startsTwice: null,
    awaits: false,
    restarts: false,
  };
}

test("KI3: a run continues until the operator has unblocked a quarantined killer", () => {
  const killers = new Killers([killer(2)]);
  expect(killers.mayWait(QUARANTINED)).toBe(false);
  expect(killers.quarantine(QUARANTINED)).toBe("unblock");
  expect(killers.mayWait({ ...QUARANTINED, blocked: null })).toBe(false);
  expect(killers.mayWait(QUARANTINED)).toBe(true);
  expect(killers.quarantine(QUARANTINED)).toBe("leave");
});

test("a run may end with a quarantined killer that the operator will not unblock", () => {
  const killers = new Killers([killer(1)]);
  expect(killers.mayWait(QUARANTINED)).toBe(true);
  expect(killers.quarantine(QUARANTINED)).toBe("leave");
});
